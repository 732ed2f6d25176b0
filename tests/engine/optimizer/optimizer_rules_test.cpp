// SPDX-License-Identifier: Apache-2.0
// The update rule of each kind, against the optimizers of the real torch, papers and references in double precision.
#include <gtest/gtest.h>

#include "core/base/json.h"
#include "core/engine/optimizer/dynamic_codes.h"
#include "tests/support/small_parts.h"

namespace plimsoll::engine {
namespace {

using torch::Tensor;

double largest_difference(const Tensor& a, const Tensor& b) {
    return (a.to(torch::kDouble) - b.to(torch::kDouble)).abs().max().item<double>();
}

Tensor numbers_of(const Json& list) { return torch::tensor(list.get<std::vector<double>>(), torch::kDouble); }

TEST(OptimizerRules, AreThoseOfTheRealTorch) {
    const Json oracle = read_json(PLIMSOLL_SOURCE_DIR "/tests/oracles/optimizer_oracle.json").value();
    const auto check = [&](const std::string& name, const Optimizer& settings) {
        const Tensor matrix = wave({5, 7}, 0), vector = wave({7}, 2);
        const auto optimizer = optimizer_of({whole_part("matrix", matrix), whole_part("vector", vector)}, settings);
        for (int step = 1; step <= 20; ++step) {
            const double phase = step;
            ASSERT_TRUE(optimizer->step({wave({5, 7}, 1.3 * phase), wave({7}, 1.7 * phase)}, 0.05 / phase, 1, 1));
            const Json& steps = oracle.at(name);
            if (!steps.contains(std::to_string(step))) continue;
            const Json& after = steps.at(std::to_string(step));
            EXPECT_LT(largest_difference(matrix.flatten(), numbers_of(after.at("matrix"))), 2e-6) << name << step;
            EXPECT_LT(largest_difference(vector, numbers_of(after.at("vector"))), 2e-6) << name << step;
        }
    };
    Optimizer settings;
    check("adamw", settings);
    settings.kind = OptimizerKind::AdamW8bit;  // all are too small for 8 bits
    check("adamw", settings);
    settings.kind = OptimizerKind::Adafactor;
    check("adafactor", settings);
    settings.kind = OptimizerKind::Sgd;
    check("sgd", settings);
    settings.momentum = 0;
    check("sgd without momentum", settings);
    EXPECT_TRUE(optimizer_of(two_parts(), settings)->state().empty());
}

TEST(OptimizerRules, FirstStepOfAdamWIsTheOneOfThePaper) {
    // Loshchilov & Hutter 2019, algorithm 2, with g = 4 and w = 2: m = 0.4, v = 0.8, corrected 4 and 16.
    const Tensor w = torch::full({1, 1}, 2.0F);
    ASSERT_TRUE(optimizer_of({whole_part("w", w)}, {})->step({torch::full({1, 1}, 4.0F)}, 0.01, 1, 1));
    EXPECT_NEAR(w.item<double>(), 2 - 0.01 * 0.1 * 2 - 0.01 * 4 / (std::sqrt(16) + 1e-8), 1e-6);
}

/// LAMB of one parameter in double precision, straight from the formula.
struct LambReference {
    Tensor w, m = torch::zeros_like(w), v = torch::zeros_like(w);
    bool adapts;
    double decay;
    int t = 0;

    void step(const Tensor& gradient, const Optimizer& o, double lr) {
        const Tensor g = gradient.to(torch::kDouble);
        ++t;
        m = o.beta1 * m + (1 - o.beta1) * g;
        v = o.beta2 * v + (1 - o.beta2) * g * g;
        const Tensor r =
            m / (1 - std::pow(o.beta1, t)) / (torch::sqrt(v / (1 - std::pow(o.beta2, t))) + o.eps) + decay * w;
        const double w_norm = w.norm().item<double>(), r_norm = r.norm().item<double>();
        w = w - lr * (adapts && w_norm != 0 && r_norm != 0 ? w_norm / r_norm : 1) * r;
    }
};

TEST(OptimizerRules, LambIsTheFormulaWithTheRatioWhereItBelongs) {
    for (const double decay : {0.1, 0.0}) {
        for (const bool always : {false, true}) {
            Optimizer settings;
            settings.kind = OptimizerKind::Lamb;
            settings.weight_decay = decay;
            settings.always_adapt = always;
            // A matrix, a vector, one of zeros (ratio 1), and one of several chunks.
            const std::vector<OptimizedPart> parts{
                whole_part("matrix", wave({5, 7}, 0)), whole_part("vector", wave({7}, 2)),
                whole_part("zeros", torch::zeros({3, 3})), whole_part("large", torch::randn({20'000, 64}))};
            std::vector<LambReference> references;
            for (const OptimizedPart& part : parts) {
                const double own_decay = part.decay ? decay : 0;
                references.push_back({part.parameter.to(torch::kDouble), {}, {}, always || own_decay != 0, own_decay});
                references.back().m = references.back().v = torch::zeros_like(references.back().w);
            }
            const auto optimizer = optimizer_of(parts, settings);
            for (std::int64_t step = 1; step <= 4; ++step) {
                const auto gradients = random_gradients(parts, step);
                ASSERT_TRUE(optimizer->step(gradients, 0.01, 1, 1));
                for (std::size_t i = 0; i < parts.size(); ++i) {
                    references[i].step(gradients[i], settings, 0.01);
                    ASSERT_LT(largest_difference(parts[i].parameter, references[i].w), 2e-6)
                        << parts[i].name << " step " << step << " decay " << decay << " always " << always;
                }
            }
        }
    }
}

TEST(OptimizerRules, LambDoesNotMoveWhatHasNoDirection) {
    Optimizer settings;
    settings.kind = OptimizerKind::Lamb;
    settings.weight_decay = 0;
    settings.always_adapt = true;
    const Tensor w = wave({5, 7}, 0), before = w.clone();
    ASSERT_TRUE(optimizer_of({whole_part("w", w)}, settings)->step({torch::zeros({5, 7})}, 0.01, 1, 1));
    EXPECT_TRUE(torch::equal(w, before));
}

TEST(OptimizerRules, StatesTakeTheMemoryThatIsPromised) {
    const auto numbers = [](OptimizerKind kind) {
        Optimizer settings;
        settings.kind = kind;
        std::int64_t count = 0;
        for (const OptimizerState& state : optimizer_of(two_parts(), settings)->state()) count += state.tensor.numel();
        return count;
    };
    EXPECT_EQ(numbers(OptimizerKind::AdamW), 2 * (70 * 67 + 67));
    EXPECT_EQ(numbers(OptimizerKind::Lamb), 2 * (70 * 67 + 67));
    EXPECT_EQ(numbers(OptimizerKind::Sgd), 70 * 67 + 67);
    EXPECT_EQ(numbers(OptimizerKind::Adafactor), 70 + 67 + 67);
}

/// Loss of a linear model with noise after some steps.
double fitted(const Optimizer& settings) {
    torch::manual_seed(5);
    const Tensor truth = torch::randn({64, 96}), w = torch::zeros({64, 96});
    const auto optimizer = optimizer_of({whole_part("w", w)}, settings);
    Tensor loss;
    for (int step = 0; step < 300; ++step) {
        const Tensor x = torch::randn({128, 96});
        const Tensor error = x.matmul(w.t()) - x.matmul(truth.t());
        loss = error.square().mean();
        const Tensor gradient = error.t().matmul(x).mul(2.0 / static_cast<double>(error.numel()));
        EXPECT_TRUE(optimizer->step({gradient}, 0.02 * (1 - step / 300.0), 1, 1));
    }
    return loss.item<double>();
}

TEST(OptimizerRules, EightBitsLearnAsThirtyTwoDo) {
    Optimizer settings;
    settings.weight_decay = 0;
    const double wide = fitted(settings);
    settings.kind = OptimizerKind::AdamW8bit;
    const double coded = fitted(settings);
    EXPECT_LT(wide, 0.1) << "of 96 at the start";
    EXPECT_LT(coded, 1.5 * wide + 1e-3);
    EXPECT_NE(coded, wide);
}

}  // namespace
}  // namespace plimsoll::engine
