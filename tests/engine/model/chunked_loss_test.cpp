// SPDX-License-Identifier: Apache-2.0
#include "core/engine/model/chunked_loss.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/engine/model/decoder.h"
#include "core/plan/checks/check_plan.h"

namespace plimsoll::engine {
namespace {

using torch::Tensor;

struct Problem {
    explicit Problem(torch::ScalarType dtype = torch::kFloat, double spread = 1) {
        torch::manual_seed(6);
        hidden = (torch::randn({3, 11, 20}) * spread).to(dtype).requires_grad_();
        weight = torch::randn({41, 20}).to(dtype).requires_grad_();
        targets = torch::randint(41, {3, 11});
    }
    /// [loss, gradient of hidden, of the weight], from a backward pass that starts with `scale`.
    std::vector<Tensor> results(std::int64_t chunks, double scale) {
        hidden.mutable_grad() = weight.mutable_grad() = Tensor();
        const Tensor loss = chunks == 0 ? language_model_loss(at::linear(hidden, weight), targets)
                                        : chunked_language_model_loss(hidden, weight, targets, chunks);
        (loss * scale).backward();
        return {loss.detach(), hidden.grad(), weight.grad()};
    }
    Tensor hidden, weight, targets;
};

double relative_error(const Tensor& found, const Tensor& exact) {
    const Tensor wide = exact.to(torch::kDouble);
    return ((found.to(torch::kDouble) - wide).norm() / wide.norm()).item<double>();
}

TEST(ChunkedLoss, EqualsHeadAndLossInTurn) {
    for (const double spread : {1.0, 30.0}) {
        Problem problem(torch::kFloat, spread);
        for (const double scale : {1.0, 0.25}) {
            const auto expected = problem.results(0, scale);
            for (const std::int64_t chunks : {1, 2, 5, 33, 1000}) {
                const auto found = problem.results(chunks, scale);
                for (std::size_t k = 0; k < 3; ++k) {
                    EXPECT_EQ(found[k].sizes(), expected[k].sizes());
                    EXPECT_LT(relative_error(found[k], expected[k]), 1e-6) << chunks << " chunks, result " << k;
                }
            }
        }
    }
}

TEST(ChunkedLoss, HalfPrecisionIsAsNearToTheTruthAsHeadAndLossInTurn) {
    for (const auto dtype : {torch::kBFloat16, torch::kHalf}) {
        Problem problem(dtype), exact;
        const torch::NoGradGuard no_grad;
        exact.hidden = problem.hidden.detach().to(torch::kDouble).requires_grad_();
        exact.weight = problem.weight.detach().to(torch::kDouble).requires_grad_();
        const torch::AutoGradMode with_gradients(true);
        const auto truth = exact.results(0, 1), plain = problem.results(0, 1), chunked = problem.results(4, 1);
        EXPECT_EQ(chunked[0].scalar_type(), torch::kFloat);
        EXPECT_EQ(chunked[1].scalar_type(), dtype);
        EXPECT_EQ(chunked[2].scalar_type(), dtype);
        for (std::size_t k = 0; k < 3; ++k) {
            EXPECT_LT(relative_error(chunked[k], truth[k]), 1.3 * relative_error(plain[k], truth[k]) + 1e-6) << k;
        }
    }
}

TEST(ChunkedLoss, Fp16GradientsOfManyTokensDoNotUnderflow) {
    // dz / N would be below 2^-24 for all but the likeliest words.
    torch::manual_seed(6);
    const Tensor hidden = torch::randn({1, 20'000, 4}).to(torch::kHalf).requires_grad_();
    const Tensor weight = torch::randn({60, 4}).to(torch::kHalf).requires_grad_();
    const Tensor targets = torch::randint(60, {1, 20'000});
    (chunked_language_model_loss(hidden, weight, targets, 8) * 65536).backward();
    const Tensor wide_hidden = hidden.detach().to(torch::kDouble).requires_grad_();
    const Tensor wide_weight = weight.detach().to(torch::kDouble).requires_grad_();
    (language_model_loss(at::linear(wide_hidden, wide_weight), targets) * 65536).backward();
    EXPECT_LT(relative_error(hidden.grad(), wide_hidden.grad()), 2e-3);
    EXPECT_LT(relative_error(weight.grad(), wide_weight.grad()), 2e-3);
}

TEST(ChunkedLoss, AddsToTheGradientOfATiedEmbedding) {
    const auto gradient = [](std::int64_t chunks) {
        torch::manual_seed(6);
        const Tensor table = torch::randn({41, 20}).requires_grad_();
        const Tensor tokens = torch::randint(41, {3, 11});
        const Tensor hidden = at::embedding(table, tokens).tanh();
        const Tensor loss = chunks == 0 ? language_model_loss(at::linear(hidden, table), tokens)
                                        : chunked_language_model_loss(hidden, table, tokens, chunks);
        loss.backward();
        return table.grad();
    };
    EXPECT_LT(relative_error(gradient(3), gradient(0)), 1e-6);
}

TEST(ChunkedLoss, GivesGradientsOnlyWhereTheyAreNeeded) {
    Problem problem;
    const auto expected = problem.results(0, 1);
    problem.weight = problem.weight.detach();
    problem.hidden.mutable_grad() = Tensor();
    chunked_language_model_loss(problem.hidden, problem.weight, problem.targets, 4).backward();
    EXPECT_LT(relative_error(problem.hidden.grad(), expected[1]), 1e-6);
    EXPECT_FALSE(problem.weight.grad().defined());

    problem.weight.requires_grad_();
    problem.hidden = problem.hidden.detach();
    chunked_language_model_loss(problem.hidden, problem.weight, problem.targets, 4).backward();
    EXPECT_LT(relative_error(problem.weight.grad(), expected[2]), 1e-6);
    EXPECT_FALSE(problem.hidden.grad().defined());

    const torch::NoGradGuard no_grad;
    const Tensor loss = chunked_language_model_loss(problem.hidden, problem.weight, problem.targets, 4);
    EXPECT_FALSE(loss.requires_grad());
    EXPECT_LT(relative_error(loss, expected[0]), 1e-6);
}

TEST(ChunkedLoss, ZLossJoinsTheGradientAndIsGivenApart) {
    Problem problem(torch::kDouble, 5);
    constexpr double weight = 0.3;
    const Tensor logits = at::linear(problem.hidden, problem.weight);
    const Tensor squares = at::logsumexp(logits, {-1}).square().mean() * weight;
    (language_model_loss(logits, problem.targets) + squares).backward();
    const Tensor hidden = problem.hidden.grad().clone(), head = problem.weight.grad().clone();
    for (const std::int64_t chunks : {1, 5}) {
        problem.hidden.mutable_grad() = problem.weight.mutable_grad() = Tensor();
        double value = 0;
        const Tensor loss =
            chunked_language_model_loss(problem.hidden, problem.weight, problem.targets, chunks, weight, &value);
        loss.backward();
        EXPECT_NEAR(value, squares.item<double>(), 1e-9);
        EXPECT_NEAR(loss.item<double>(), language_model_loss(logits, problem.targets).item<double>(), 1e-9);
        EXPECT_LT(relative_error(problem.hidden.grad(), hidden), 1e-12);
        EXPECT_LT(relative_error(problem.weight.grad(), head), 1e-12);
    }
}

TEST(ChunkedLoss, ASecondBackwardPassIsRefused) {
    Problem problem;
    const Tensor loss = chunked_language_model_loss(problem.hidden, problem.weight, problem.targets, 4);
    loss.backward({}, /*retain_graph=*/true);
    EXPECT_THAT([&] { loss.backward(); },
                testing::ThrowsMessage<c10::Error>(testing::HasSubstr("goes backward once only")));
}

TEST(ChunkedLoss, BrokenLogitsGiveABrokenLoss) {
    Problem problem;
    problem.hidden = problem.hidden.detach();
    problem.hidden[1][2][3] = std::numeric_limits<float>::infinity();
    EXPECT_FALSE(
        chunked_language_model_loss(problem.hidden, problem.weight, problem.targets, 4).isfinite().item<bool>());
}

}  // namespace
}  // namespace plimsoll::engine
