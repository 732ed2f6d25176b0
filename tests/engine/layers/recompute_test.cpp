// SPDX-License-Identifier: Apache-2.0
#include "core/engine/layers/recompute.h"

#include <gtest/gtest.h>
#include <torch/csrc/autograd/function_hook.h>

#include "core/engine/layers/layers.h"
#include "tests/support/small_models.h"

namespace plimsoll::engine {
namespace {

using torch::Tensor;

TEST(Recompute, GivesTheSameGradientsBitForBit) {
    for (const std::string& preset : family_presets()) {
        for (const Attention attention : {Attention::Eager, Attention::Flash}) {
            for (const double p : {0.0, 0.2}) {
                Plan plan = small_plan(preset);
                plan.numerics.attention = attention;
                plan.model.dropout = p;
                const Tensor tokens = random_tokens(plan, 2, 12), targets = random_tokens(plan, 2, 12, 8);
                const auto expected = gradients(*make_decoder(plan, 3), tokens, targets);
                for (const Recompute mode : {Recompute::Selective, Recompute::Full, Recompute::Mlp}) {
                    plan.layout.recompute = mode;
                    for (const auto& [name, gradient] : gradients(*make_decoder(plan, 3), tokens, targets)) {
                        EXPECT_TRUE(torch::equal(gradient, expected.at(name))) << preset << " " << name << " p " << p;
                    }
                }
            }
        }
    }
}

TEST(Recompute, SideLossesAreThoseOfTheFirstRun) {
    int runs = 0;
    const ReplayedBody body = [&runs](const std::vector<Tensor>& in, Replay&) {
        return WithSideLoss{in[0] * 2, static_cast<double>(++runs)};
    };
    const Tensor x = torch::ones({3}).requires_grad_();
    const WithSideLoss y = recompute(body, {x});
    EXPECT_EQ(y.side_loss, 1);
    y.x.sum().backward();
    EXPECT_EQ(runs, 2);
    EXPECT_TRUE(x.grad().eq(2).all().item<bool>());
}

TEST(Recompute, RouterLossesCountOnceWithTheSameGradients) {
    Plan plan = small_plan("mixtral-8x7b");
    plan.model.router_aux_loss = 0.3;
    plan.model.router_z_loss = 0.2;
    const Tensor tokens = random_tokens(plan, 2, 12), targets = random_tokens(plan, 2, 12, 8);
    const auto trained = [&](Decoder& model) {
        const WithSideLoss body = model.body(tokens, DropoutKey(), 3);
        model.loss(body.x, targets).x.backward();
        std::vector<Tensor> gradients;
        for (const Tensor& parameter : model.parameters()) gradients.push_back(parameter.grad());
        return std::pair{body.side_loss, gradients};
    };
    const auto [expected, gradients] = trained(*make_decoder(plan, 3));
    EXPECT_GT(expected, 0);
    for (const Recompute mode : {Recompute::Selective, Recompute::Full, Recompute::Mlp}) {
        plan.layout.recompute = mode;
        const auto [loss, again] = trained(*make_decoder(plan, 3));
        EXPECT_EQ(loss, expected);
        for (std::size_t i = 0; i < gradients.size(); ++i) EXPECT_TRUE(torch::equal(again[i], gradients[i])) << i;
    }
    const auto model = make_decoder(plan, 3);
    model->eval();
    EXPECT_EQ(model->body(tokens, DropoutKey()).side_loss, 0);
}

TEST(Recompute, LeavesTheRandomNumbersAfterItAsTheyWere) {
    Plan plan = small_plan("gpt2");
    plan.model.dropout = 0.2;
    const Tensor tokens = random_tokens(plan, 2, 12);
    const auto next_number = [&] {
        gradients(*make_decoder(plan, 3), tokens, tokens);
        return torch::rand({1}).item<float>();
    };
    const float plain = next_number();
    plan.layout.recompute = Recompute::Full;
    EXPECT_EQ(next_number(), plain);
}

TEST(Recompute, DropoutDropsWhileTrainingOnly) {
    for (const std::string& preset : family_presets()) {
        Plan plan = small_plan(preset);
        plan.model.dropout = 0.5;
        plan.layout.recompute = Recompute::Full;
        const auto model = make_decoder(plan, 3);
        const Tensor tokens = random_tokens(plan, 2, 12);
        EXPECT_FALSE(torch::equal(model->forward(tokens), model->forward(tokens))) << preset;
        model->eval();
        EXPECT_TRUE(torch::equal(model->forward(tokens), model->forward(tokens))) << preset;
    }
}

/// Counts how often a gradient was accumulated.
struct Counter : torch::autograd::PostAccumulateGradHook {
    explicit Counter(int* count) : count_(count) {}
    void operator()(const torch::autograd::Variable&) override { ++*count_; }
    int* count_;
};

TEST(Recompute, EachParameterIsAccumulatedOnceSoThatBucketsSeeIt) {
    for (const Recompute mode : {Recompute::None, Recompute::Selective, Recompute::Full, Recompute::Mlp}) {
        Plan plan = small_plan("llama-2-70b");
        plan.model.tied_head = true;
        plan.layout.recompute = mode;
        const auto model = make_decoder(plan, 3);
        std::map<std::string, int> counts;
        for (const auto& item : model->named_parameters()) {
            const torch::autograd::Variable parameter = item.value();
            torch::autograd::impl::set_post_acc_grad_hooks(parameter, std::make_unique<Counter>(&counts[item.key()]));
        }
        const Tensor tokens = random_tokens(plan, 1, 8);
        language_model_loss(model->forward(tokens), tokens).backward();
        for (const auto& [name, count] : counts) EXPECT_EQ(count, 1) << name;
    }
}

TEST(Recompute, GradientsGoIntoTheTensorsThatAreThere) {
    // Data parallelism makes each .grad a view into its bucket.
    Plan plan = small_plan("mistral-7b");
    plan.layout.recompute = Recompute::Full;
    const auto model = make_decoder(plan, 3);
    std::vector<Tensor> buckets;
    for (Tensor& parameter : model->parameters()) {
        buckets.push_back(torch::zeros(parameter.numel()));
        parameter.mutable_grad() = buckets.back().view_as(parameter);
    }
    const Tensor tokens = random_tokens(plan, 1, 8);
    language_model_loss(model->forward(tokens), tokens).backward();
    for (const Tensor& bucket : buckets) EXPECT_GT(bucket.abs().sum().item<double>(), 0);
}

TEST(Recompute, TrainsLayersBehindAFrozenEmbedding) {
    // peft #137: no input requires a gradient, yet the parameters inside need theirs.
    Plan plan = small_plan("llama-7b");
    const Tensor tokens = random_tokens(plan, 1, 8);
    std::map<Recompute, Tensor> found;
    for (const Recompute mode : {Recompute::None, Recompute::Full}) {
        plan.layout.recompute = mode;
        const auto model = make_decoder(plan, 3);
        auto parameters = model->named_parameters();
        parameters["model.embed_tokens.weight"].requires_grad_(false);
        language_model_loss(model->forward(tokens), tokens).backward();
        found[mode] = parameters["model.layers.0.self_attn.q_proj.weight"].grad();
    }
    EXPECT_TRUE(torch::equal(found[Recompute::None], found[Recompute::Full]));
}

/// Counts the products of two matrices in which it is watching.
struct CountedProducts : at::ObserverContext {
    static thread_local int count;
    static std::unique_ptr<at::ObserverContext> start(const at::RecordFunction& function) {
        const std::string name = function.name();
        if (name == "aten::mm" || name == "aten::addmm" || name == "aten::bmm") ++count;
        return nullptr;
    }
};
thread_local int CountedProducts::count = 0;

TEST(Recompute, OfTheMlpRepeatsOnlyItsFirstProducts) {
    for (const auto& [preset, first, all] : {std::tuple{"gpt2", 1, 4}, std::tuple{"llama-7b", 2, 7}}) {
        Plan plan = small_plan(preset);
        plan.numerics.attention = Attention::Flash;
        const Tensor tokens = random_tokens(plan, 1, 8);
        const auto products = [&](Recompute mode) {
            plan.layout.recompute = mode;
            const auto model = make_decoder(plan, 3);
            const auto watch = at::addThreadLocalCallback(at::RecordFunctionCallback(&CountedProducts::start));
            CountedProducts::count = 0;
            gradients(*model, tokens, tokens);
            at::removeCallback(watch);
            return CountedProducts::count;
        };
        const int none = products(Recompute::None);
        EXPECT_EQ(products(Recompute::Mlp) - none, first * plan.model.num_layers) << preset;
        EXPECT_EQ(products(Recompute::Full) - none, all * plan.model.num_layers) << preset;
    }
}

TEST(Recompute, BodyWithNothingToTrainGivesNoGradient) {
    const Tensor x = torch::ones({3});
    const Tensor y = recompute([](const std::vector<Tensor>& in) { return in[0] * 2; }, {x});
    (y * torch::ones({3}).requires_grad_()).sum().backward();
    EXPECT_FALSE(x.grad().defined());
}

}  // namespace
}  // namespace plimsoll::engine
