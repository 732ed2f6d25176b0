// SPDX-License-Identifier: Apache-2.0
// The engine's own autograd functions against central differences in double precision.
#include <gtest/gtest.h>

#include "core/engine/layers/layers.h"
#include "core/engine/layers/moe.h"
#include "core/engine/layers/recompute.h"
#include "core/engine/layers/ring_attention.h"
#include "core/engine/model/chunked_loss.h"
#include "core/engine/model/init.h"
#include "core/engine/model/vocabulary_loss.h"
#include "tests/support/small_models.h"

namespace plimsoll::engine {
namespace {

using torch::Tensor;
using Inputs = std::vector<Tensor>;
/// A scalar of the inputs.
using Scalar = std::function<Tensor(const Inputs&)>;

Tensor random(at::IntArrayRef shape, std::uint64_t seed) {
    auto generator = at::make_generator<at::CPUGeneratorImpl>(seed);
    return at::randn(shape, generator, torch::TensorOptions().dtype(torch::kDouble));
}

ModelContext context_of(const Plan& plan, const Mesh& mesh) {
    ModelContext context;
    context.plan = &plan;
    context.mesh = &mesh;
    return context;
}

/// A scalar with another weight on each number, so that no error cancels.
Tensor weighted_sum(const Tensor& y) { return (y * random(y.sizes(), 99)).sum(); }

/// (f(x + h) - f(x - h)) / 2h for each number of one input: the error is of the order h² and 1e-16 / h.
Tensor central_differences(const Scalar& f, const Inputs& inputs, std::size_t which) {
    const torch::NoGradGuard no_grad;
    constexpr double h = 1e-5;
    const Tensor flat = inputs[which].detach().view({-1});
    Tensor result = at::empty_like(flat);
    for (std::int64_t i = 0; i < flat.numel(); ++i) {
        const double before = flat[i].item<double>();
        flat[i] = before + h;
        const double above = f(inputs).item<double>();
        flat[i] = before - h;
        const double below = f(inputs).item<double>();
        flat[i] = before;
        result[i] = (above - below) / (2 * h);
    }
    return result.view(inputs[which].sizes());
}

/// Also that the gradient of each input alone, where the others need none, is the same.
void expect_gradients(const Scalar& f, Inputs inputs, double tolerance = 1e-8) {
    for (Tensor& input : inputs) input.requires_grad_();
    f(inputs).backward();
    for (std::size_t k = 0; k < inputs.size(); ++k) {
        const Tensor expected = central_differences(f, inputs, k);
        ASSERT_TRUE(inputs[k].grad().defined()) << "input " << k;
        EXPECT_LT(largest_difference(inputs[k].grad(), expected), tolerance) << "input " << k;
        EXPECT_GT(expected.abs().max().item<double>(), 1e-3) << "input " << k << " has nothing to compare";

        Inputs alone;
        for (const Tensor& input : inputs) alone.push_back(input.detach());
        alone[k].requires_grad_();
        f(alone).backward();
        EXPECT_LT(largest_difference(alone[k].grad(), expected), tolerance) << "input " << k << " alone";
    }
}

TEST(Gradients, RmsNorm) {
    const Plan plan = small_plan("llama-7b");
    const auto mesh = Mesh::alone();
    RmsNorm norm(7, 1e-5, context_of(plan, *mesh));
    norm.to(torch::kDouble);
    Tensor weight = norm.parameters()[0];
    const Scalar f = [&](const Inputs& in) { return weighted_sum(norm.forward(in[0])); };
    for (const double size : {1.0, 1e-2}) {  // 1e-2: eps counts
        {
            const torch::NoGradGuard no_grad;
            weight.copy_(random({7}, 1));
        }
        weight.mutable_grad() = Tensor();
        // Small inputs make large gradients, and the differences are off in the same measure.
        expect_gradients(f, {random({2, 3, 7}, 2) * size}, size == 1 ? 1e-8 : 1e-4);
    }
    weight.mutable_grad() = Tensor();
    const Inputs inputs{random({2, 3, 7}, 2)};
    f(inputs).backward();
    const Tensor expected = central_differences([&](const Inputs& in) { return f({inputs[0]}); }, {weight}, 0);
    EXPECT_LT(largest_difference(weight.grad(), expected), 1e-8);
}

TEST(Gradients, Rotary) {
    const Rotary rotary(6, 10'000);
    const auto table = rotary.table(torch::arange(5), random({1}, 1));
    expect_gradients([&](const Inputs& in) { return weighted_sum(Rotary::turn(in[0], table)); },
                     {random({2, 5, 3, 6}, 2)});
    // A view with gaps, as the queries are of a joint projection.
    expect_gradients([&](const Inputs& in) { return weighted_sum(Rotary::turn(in[0].narrow(3, 2, 6), table)); },
                     {random({2, 5, 3, 10}, 2)});
}

TEST(Gradients, RingAttention) {
    const auto ring = single_rank();
    const auto f = [&](const Inputs& in) { return weighted_sum(ring_attention(in[0], in[1], in[2], *ring)); };
    // Four heads share two key-value heads.
    expect_gradients(f, {random({2, 6, 4, 3}, 1), random({2, 6, 2, 3}, 2), random({2, 6, 2, 3}, 3)});
}

TEST(Gradients, VocabularyParallelLoss) {
    const auto ranks = single_rank();
    const Tensor targets = torch::tensor({4, 0, 2}, torch::kInt64);
    expect_gradients([&](const Inputs& in) { return vocabulary_parallel_loss(in[0], targets, 0, *ranks); },
                     {random({3, 5}, 1)});
}

TEST(Gradients, DeferredWeights) {
    const auto deferred = std::make_shared<DeferredWeights>();
    for (const bool transposed : {false, true}) {
        expect_gradients(
            [&](const Inputs& in) { return weighted_sum(deferrable_linear(in[0], in[1], transposed, deferred)); },
            {random({2, 3, 4}, 1), transposed ? random({4, 5}, 2) : random({5, 4}, 2)});
    }
    // Put off, the gradient of the weight comes later and is the same.
    const Tensor x = random({2, 3, 4}, 1), at_once = random({5, 4}, 2).requires_grad_(),
                 later = random({5, 4}, 2).requires_grad_();
    weighted_sum(deferrable_linear(x, at_once, false, deferred)).backward();
    deferred->begin(7);
    weighted_sum(deferrable_linear(x, later, false, deferred)).backward();
    deferred->end();
    EXPECT_FALSE(later.grad().defined());
    deferred->run(7);
    EXPECT_TRUE(torch::allclose(later.grad(), at_once.grad(), 0, 1e-14));
}

TEST(Gradients, RoutedExpertsWithTheirLosses) {
    Plan plan = small_plan("mixtral-8x7b");
    plan.model.num_experts = 3;
    plan.model.hidden_size = 4;
    plan.model.ffn_hidden_size = 5;
    const auto mesh = Mesh::alone();
    const ModelContext context = context_of(plan, *mesh);
    for (const double factor : {0.0, 0.8}) {
        plan.model.capacity_factor = factor;
        plan.model.router_aux_loss = 0;
        const auto moe = std::make_shared<MoeMlp>(context);
        initialize(*moe, plan.model, 3);
        moe->to(torch::kDouble);
        expect_gradients([&](const Inputs& in) { return weighted_sum(moe->forward(in[0], {}).x); },
                         {random({2, 3, 4}, 1)});

        // The losses of the router act through the gradient alone.
        plan.model.router_aux_loss = 0.3;
        plan.model.router_z_loss = 0.2;
        const auto with_losses = [&](const Inputs& in) {
            const WithSideLoss y = moe->forward(in[0], 1);
            return weighted_sum(y.x) + y.side_loss;
        };
        const Inputs inputs{random({2, 3, 4}, 1).requires_grad_()};
        const Tensor expected = central_differences(with_losses, {inputs[0].detach().requires_grad_()}, 0);
        weighted_sum(moe->forward(inputs[0], 1).x).backward();
        EXPECT_LT(largest_difference(inputs[0].grad(), expected), 1e-8) << factor;
        plan.model.router_z_loss = 0;
    }
}

TEST(Gradients, Recompute) {
    const Scalar f = [](const Inputs& in) {
        const RecomputedBody body = [](const Inputs& x) { return (x[0].matmul(x[1]).tanh() * x[2]).exp(); };
        return weighted_sum(recompute(body, in));
    };
    expect_gradients(f, {random({3, 4}, 1), random({4, 5}, 2), random({5}, 3)});
}

TEST(Gradients, RecomputeWithinRecompute) {
    const Scalar f = [](const Inputs& in) {
        const RecomputedBody inner = [](const Inputs& x) { return (x[0] * x[1]).tanh(); };
        const RecomputedBody outer = [inner](const Inputs& x) { return recompute(inner, {x[0] * x[0], x[1]}); };
        return weighted_sum(recompute(outer, in));
    };
    expect_gradients(f, {random({3, 4}, 1), random({4}, 2)});
}

TEST(Gradients, ChunkedLoss) {
    const Tensor targets = at::arange(10).remainder(6).view({2, 5});
    for (const std::int64_t chunks : {1, 3, 10}) {
        expect_gradients(
            [&](const Inputs& in) { return chunked_language_model_loss(in[0], in[1], targets, chunks) * 3; },
            {random({2, 5, 4}, 1), random({6, 4}, 2)});
    }
}

TEST(Gradients, ChunkedLossOfATiedHead) {
    const Tensor tokens = at::arange(10).remainder(6).view({2, 5});
    expect_gradients(
        [&](const Inputs& in) {
            return chunked_language_model_loss(at::embedding(in[0], tokens).tanh(), in[0], tokens.flip(1), 3);
        },
        {random({6, 4}, 2)});
}

TEST(Gradients, WholeDecoders) {
    for (const std::string& preset : family_presets()) {
        Plan plan = small_plan(preset);
        plan.model.num_layers = 1;
        const auto model = make_decoder(plan, 3);
        model->to(torch::kDouble);
        const Tensor tokens = random_tokens(plan, 1, 5), targets = random_tokens(plan, 1, 5, 8);
        const auto loss = [&] { return language_model_loss(model->forward(tokens), targets); };
        loss().backward();
        // Along one random direction a parameter: one difference for each number would take minutes.
        const torch::NoGradGuard no_grad;
        for (const auto& item : model->named_parameters()) {
            Tensor parameter = item.value();
            const Tensor direction = random(parameter.sizes(), 5), before = parameter.clone();
            constexpr double h = 1e-5;
            parameter.copy_(before + h * direction);
            const double above = loss().item<double>();
            parameter.copy_(before - h * direction);
            const double below = loss().item<double>();
            parameter.copy_(before);
            const double expected = (above - below) / (2 * h);
            EXPECT_NEAR((parameter.grad() * direction).sum().item<double>(), expected, 1e-7 + 1e-6 * std::abs(expected))
                << preset << " " << item.key();
        }
    }
}

}  // namespace
}  // namespace plimsoll::engine
