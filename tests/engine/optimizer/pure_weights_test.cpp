// SPDX-License-Identifier: Apache-2.0
// bf16 weights without masters: what each rounding does, against torch, the published algorithm and numbers by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "core/base/json.h"
#include "core/engine/optimizer/stochastic_rounding.h"
#include "tests/support/small_parts.h"

namespace plimsoll::engine {
namespace {

using torch::Tensor;

constexpr std::array roundings{Rounding::Nearest, Rounding::Stochastic, Rounding::Kahan};

WeightUpdates pure(Rounding rounding, std::uint64_t seed = 7) { return {false, rounding, seed}; }

std::unique_ptr<ShardedOptimizer> pure_optimizer(const std::vector<OptimizedPart>& parts, const Optimizer& settings,
                                                 Rounding rounding, std::uint64_t seed = 7) {
    return make_optimizer(parts, settings, nullptr, nullptr, pure(rounding, seed)).value();
}

Optimizer sgd_without_state() {
    Optimizer settings;
    settings.kind = OptimizerKind::Sgd;
    settings.momentum = 0;
    settings.weight_decay = 0;
    return settings;
}

/// `steps` updates of `update` added to a weight of 1, 4096 times over.
Tensor after_many(Rounding rounding, double update, int steps) {
    const Tensor w = torch::ones({4096}, torch::kBFloat16);
    const auto optimizer = pure_optimizer({whole_part("w", w)}, sgd_without_state(), rounding);
    const Tensor gradient = torch::full({4096}, -update, torch::kFloat);
    for (int step = 0; step < steps; ++step) EXPECT_TRUE(optimizer->step({gradient}, 1, 1, 1));
    return w.to(torch::kDouble);
}

TEST(PureWeights, UpdatesBelowHalfADigitAreLostButForTheirRounding) {
    // Above 1 bf16 goes by 1/128: 1e-3 is below half of that, 1/256. A hundred of them are 0.1.
    EXPECT_TRUE(after_many(Rounding::Nearest, 1e-3, 100).eq(1).all().item<bool>());
    // Kahan's sum is within one digit, c's own rounding included.
    const Tensor kahan = after_many(Rounding::Kahan, 1e-3, 100);
    EXPECT_LT((kahan - 1.1).abs().max().item<double>(), 1.0 / 128);
    // A sum of 100 updates that are each 0 or 1/128: the mean is 1.1, a deviation sqrt(100 p (1 - p)) / 128, p 0.128.
    const Tensor random = after_many(Rounding::Stochastic, 1e-3, 100);
    const double deviation = std::sqrt(100 * 0.128 * 0.872) / 128;
    EXPECT_NEAR(random.mean().item<double>(), 1.1, 4 * deviation / std::sqrt(4096.0));
    EXPECT_NEAR(random.std().item<double>(), deviation, 0.1 * deviation);
}

TEST(PureWeights, AnUpdateAboveADigitIsTakenByAll) {
    for (const Rounding rounding : roundings) {
        EXPECT_LT((after_many(rounding, 1.0 / 32, 8) - 1.25).abs().max().item<double>(), 1e-6) << name_of(rounding);
    }
}

TEST(PureWeights, KahanIsThePublishedAlgorithm) {
    // Zamirai et al. 2020 and optimi's kahan_sum: all sums in bf16, the update in fp32.
    const Tensor w = wave({37}, 0).to(torch::kBFloat16);
    Tensor reference = w.clone(), c = torch::zeros_like(reference);
    const auto optimizer = pure_optimizer({whole_part("w", w)}, sgd_without_state(), Rounding::Kahan);
    for (int step = 1; step <= 200; ++step) {
        const Tensor gradient = wave({37}, 1.3 * step) * 1e-3;
        ASSERT_TRUE(optimizer->step({gradient}, 0.5, 1, 1));
        // The update as the fp32 weight takes it.
        const Tensor wide = reference.to(torch::kFloat), update = wide.add(gradient, -0.5) - wide;
        c = (c.to(torch::kFloat) + update).to(torch::kBFloat16);
        const Tensor before = reference.clone();
        reference = (before.to(torch::kFloat) + c.to(torch::kFloat)).to(torch::kBFloat16);
        const Tensor taken = (before.to(torch::kFloat) - reference.to(torch::kFloat)).to(torch::kBFloat16);
        c = (c.to(torch::kFloat) + taken.to(torch::kFloat)).to(torch::kBFloat16);
        ASSERT_TRUE(torch::equal(w, reference)) << step;
        ASSERT_TRUE(torch::equal(optimizer->state().front().tensor, c)) << step;
    }
    EXPECT_EQ(optimizer->state().front().name, "compensation/w");
}

/// The difference of torch.optim.AdamW on bf16 parameters and ours, in last digits of bf16 (2^-7 of the power of two
/// below), for numbers near 0 in those of 0.25.
Tensor digits_from_torchs(const std::string& name, int step, const Tensor& weights) {
    static const Json oracle = read_json(PLIMSOLL_SOURCE_DIR "/tests/oracles/optimizer_oracle.json").value();
    const auto& numbers = oracle.at(name).at(std::to_string(step)).at("matrix");
    const Tensor torchs = torch::tensor(numbers.get<std::vector<double>>(), torch::kDouble);
    const Tensor digit = at::exp2(at::floor(at::log2(torchs.abs().clamp_min(0.25))) - 7);
    return (weights.to(torch::kDouble).flatten() - torchs).abs() / digit;
}

TEST(PureWeights, AdamWIsTheRealTorchsButForRounding) {
    Optimizer settings;
    settings.state_dtype = Dtype::Bf16;
    const Tensor matrix = wave({5, 7}, 0).to(torch::kBFloat16);
    const auto optimizer = pure_optimizer({whole_part("matrix", matrix)}, settings, Rounding::Nearest);
    for (int step = 1; step <= 20; ++step) {
        const double phase = step;
        const Tensor gradient = wave({5, 7}, 1.3 * phase).to(torch::kBFloat16);
        ASSERT_TRUE(optimizer->step({gradient}, 0.05 / phase, 1, 1));
        if (step != 1 && step != 5 && step != 20) continue;
        // fused=True computes in fp32 and rounds once, as is done here: the same numbers, but for two that lie halfway.
        const Tensor fused = digits_from_torchs("fused adamw on bf16", step, matrix);
        EXPECT_LE(fused.ne(0).sum().item<int>(), 2) << step;
        EXPECT_LE(fused.max().item<double>(), 1) << step;
        // foreach=False rounds after each of its operations.
        const Tensor each = digits_from_torchs("adamw on bf16", step, matrix);
        EXPECT_LE(each.median().item<double>(), 1) << step;
        EXPECT_LE(each.max().item<double>(), 1 + step) << step;
    }
}

TEST(PureWeights, AdamWIsTorchsFusedOneToTheBit) {
    // torch.optim.AdamW(fused=True) computes in fp32 and rounds once, as is done here.
    Optimizer settings;
    settings.state_dtype = Dtype::Bf16;
    const Tensor w = wave({64, 32}, 0).to(torch::kBFloat16), other = w.clone();
    const Tensor m = torch::zeros_like(w), v = torch::zeros_like(w);
    const auto optimizer = pure_optimizer({whole_part("w", w)}, settings, Rounding::Nearest);
    for (int step = 1; step <= 20; ++step) {
        const Tensor gradient = wave({64, 32}, 1.3 * step).to(torch::kBFloat16);
        ASSERT_TRUE(optimizer->step({gradient}, 0.02, 1, 1));
        const Tensor count = torch::full({}, step, torch::kFloat);
        at::_fused_adamw_({other}, {gradient}, {m}, {v}, {}, {count}, 0.02, settings.beta1, settings.beta2,
                          settings.weight_decay, settings.eps, false, false);
        ASSERT_TRUE(torch::equal(w, other)) << step;
        ASSERT_TRUE(torch::equal(optimizer->state()[0].tensor, m)) << step;
        ASSERT_TRUE(torch::equal(optimizer->state()[1].tensor, v)) << step;
    }
}

TEST(PureWeights, KeepNoFp32Number) {
    for (const Optimizer& kind : every_optimizer()) {
        Optimizer settings = kind;
        const bool chooses = settings.kind != OptimizerKind::AdamW8bit && settings.kind != OptimizerKind::Adafactor;
        if (chooses) settings.state_dtype = Dtype::Bf16;
        for (const Rounding rounding : roundings) {
            const auto parts = two_parts(torch::kBFloat16);
            const auto optimizer = pure_optimizer(parts, settings, rounding);
            ASSERT_TRUE(optimizer->step(random_gradients(parts, 1), 0.1, 1, 1));
            std::int64_t compensations = 0;
            for (const OptimizerState& state : optimizer->state()) {
                EXPECT_FALSE(state.name.starts_with("master/"));
                compensations += state.name.starts_with("compensation/") ? 1 : 0;
                if (chooses) {
                    EXPECT_EQ(state.tensor.scalar_type(), torch::kBFloat16) << state.name;
                }
            }
            EXPECT_EQ(compensations, rounding == Rounding::Kahan ? 2 : 0);
            EXPECT_FALSE(torch::equal(parts[0].parameter, two_parts(torch::kBFloat16)[0].parameter));
        }
    }
}

TEST(PureWeights, ContinueFromTheirStateBitForBit) {
    for (const Optimizer& kind : every_optimizer()) {
        Optimizer settings = kind;
        if (settings.kind == OptimizerKind::AdamW || settings.kind == OptimizerKind::Lamb) {
            settings.state_dtype = Dtype::Bf16;
        }
        for (const Rounding rounding : roundings) {
            const auto first = two_parts(torch::kBFloat16), second = two_parts(torch::kBFloat16);
            const auto a = pure_optimizer(first, settings, rounding), b = pure_optimizer(second, settings, rounding);
            for (std::int64_t step = 1; step <= 3; ++step) {
                ASSERT_TRUE(a->step(random_gradients(first, step), 1e-3, 1, 1));
            }
            ASSERT_TRUE(b->load_state(named_state(*a), a->steps()));
            for (std::size_t i = 0; i < 2; ++i) second[i].parameter.copy_(first[i].parameter);
            for (std::int64_t step = 4; step <= 6; ++step) {
                ASSERT_TRUE(a->step(random_gradients(first, step), 1e-3, 1, 1));
                ASSERT_TRUE(b->step(random_gradients(first, step), 1e-3, 1, 1));
            }
            const auto left = named_state(*a), right = named_state(*b);
            for (std::size_t k = 0; k < left.size(); ++k) {
                EXPECT_TRUE(torch::equal(left[k].second, right[k].second)) << name_of(settings) << left[k].first;
            }
            for (std::size_t i = 0; i < 2; ++i) {
                EXPECT_TRUE(torch::equal(first[i].parameter, second[i].parameter)) << name_of(settings);
            }
        }
    }
}

TEST(PureWeights, StatesInBf16AreOfMastersToo) {
    Optimizer settings;
    settings.state_dtype = Dtype::Bf16;
    const auto parts = two_parts(torch::kBFloat16);
    const auto optimizer = optimizer_of(parts, settings);
    ASSERT_TRUE(optimizer->step(random_gradients(parts, 1), 0.1, 1, 1));
    std::vector<std::string> kept;
    for (const OptimizerState& state : optimizer->state()) {
        kept.push_back(fmt::format("{} {}", state.name, c10::toString(state.tensor.scalar_type())));
    }
    EXPECT_THAT(kept,
                testing::ElementsAre("master/matrix Float", "exp_avg/matrix BFloat16", "exp_avg_sq/matrix BFloat16",
                                     "master/norm Float", "exp_avg/norm BFloat16", "exp_avg_sq/norm BFloat16"));
}

TEST(PureWeights, AreNotInFp16) {
    const auto made = make_optimizer(two_parts(torch::kHalf), {}, nullptr, nullptr, pure(Rounding::Nearest));
    ASSERT_FALSE(made);
    EXPECT_THAT(made.error().message, testing::HasSubstr("matrix is in fp16"));
}

RoundingBits bits_of(const Shard& shard, std::int64_t begin = 0, std::int64_t step = 1) {
    return {RoundingBits::key_of(5, "w", step), shard, begin};
}

Tensor rounded(const Tensor& exact, const RoundingBits& bits) {
    Tensor stored = torch::empty(exact.sizes(), torch::kBFloat16);
    round_stochastically(stored.view(-1), exact.contiguous().view(-1), bits);
    return stored;
}

TEST(StochasticRounding, TakesOneOfTheTwoNeighboursWithTheMeanOfTheNumber) {
    const Shard all;
    for (const double number : {1.0 + 0.3 / 128, -3.0 - 0.9 / 64, 1e-38, 0.02}) {
        const Tensor exact = torch::full({1 << 16}, number, torch::kFloat);
        const Tensor result = rounded(exact, bits_of(all)).to(torch::kDouble);
        const double low = result.min().item<double>(), high = result.max().item<double>();
        const double value = exact[0].item<double>();
        ASSERT_LT(low, value);
        ASSERT_GT(high, value);
        EXPECT_EQ((result.eq(low) + result.eq(high)).sum().item<std::int64_t>(), 1 << 16) << "only two numbers";
        EXPECT_NEAR((result.mean().item<double>() - low) / (high - low), (value - low) / (high - low), 0.01) << number;
    }
}

TEST(StochasticRounding, LeavesWhatBf16Holds) {
    const Shard all;
    const float infinity = std::numeric_limits<float>::infinity();
    const Tensor exact = torch::tensor({0.0F, -0.0F, 1.0F, -2.5F, 3.389531e38F, infinity, -infinity, 1e-40F});
    const Tensor bf16 = exact.to(torch::kBFloat16).to(torch::kFloat), again = rounded(bf16, bits_of(all));
    EXPECT_TRUE(torch::equal(again.to(torch::kFloat), bf16));
    const Tensor nan = torch::full({64}, std::numeric_limits<float>::quiet_NaN());
    EXPECT_TRUE(rounded(nan, bits_of(all)).isnan().all().item<bool>());
}

TEST(StochasticRounding, GoesByThePlaceInTheWholeParameter) {
    torch::manual_seed(1);
    const Tensor whole = torch::randn({12, 9});
    const Shard all = replicated({12, 9}, 1);
    const Tensor result = rounded(whole, bits_of(all));
    EXPECT_FALSE(torch::equal(result, rounded(whole, bits_of(all, 0, 2)))) << "another update";

    // A flat range, as ZeRO cuts it.
    EXPECT_TRUE(
        torch::equal(rounded(whole.view(-1).narrow(0, 31, 40), bits_of(all, 31)), result.view(-1).narrow(0, 31, 40)));
    // Rows and columns, as tensor parallelism cuts them, and a range of such a slice.
    for (const std::int64_t dim : {0, 1}) {
        for (int rank = 0; rank < 3; ++rank) {
            const Shard slice = shard_along({12, 9}, dim, rank, 3);
            const Tensor own = slice.cut(whole), expected = slice.cut(result);
            EXPECT_TRUE(torch::equal(rounded(own, bits_of(slice)), expected)) << dim << rank;
            EXPECT_TRUE(torch::equal(rounded(own.view(-1).narrow(0, 7, 20), bits_of(slice, 7)),
                                     expected.view(-1).narrow(0, 7, 20)));
        }
    }
    // GPT-2's fused q, k and v: three ranges.
    Shard fused;
    fused.whole = {12, 9};
    fused.dim = 1;
    fused.ranges = {{0, 1}, {3, 1}, {6, 1}};
    EXPECT_TRUE(torch::equal(rounded(fused.cut(whole), bits_of(fused)), fused.cut(result)));
}

TEST(StochasticRounding, IsTheSameByTensorOperations) {
    torch::manual_seed(2);
    const Shard slice = shard_along({300, 1000}, 1, 1, 2);
    const Tensor exact = slice.cut(torch::randn({300, 1000})).view(-1);
    const Tensor one = torch::empty(exact.sizes(), torch::kBFloat16), other = torch::empty_like(one);
    round_stochastically(one, exact, bits_of(slice));
    round_stochastically_by_tensors(other, exact, bits_of(slice));
    EXPECT_TRUE(torch::equal(one, other));
}

}  // namespace
}  // namespace plimsoll::engine
