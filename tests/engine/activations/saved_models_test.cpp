// SPDX-License-Identifier: Apache-2.0
// Models trained from activations that were kept in 8 bits.
#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include "core/engine/activations/saved_tensors.h"
#include "tests/support/small_models.h"

namespace plimsoll::engine {
namespace {

using torch::Tensor;

SavedPolicy compressing(std::int64_t min_elements) { return {true, false, min_elements, {}}; }

/// Gradients by name of one step whose layers, but not whose loss, run in the scope.
std::map<std::string, Tensor> gradients_within(Decoder& model, const Plan& plan, const SavedPolicy& policy,
                                               bool backward_inside = false) {
    const Tensor tokens = random_tokens(plan, 2, 24), targets = random_tokens(plan, 2, 24, 8);
    torch::manual_seed(11);
    model.zero_grad();
    std::optional<SavedTensors> scope(std::in_place, policy);
    const Tensor logits = model.forward(tokens);
    if (!backward_inside) scope.reset();
    language_model_loss(logits, targets).backward();
    std::map<std::string, Tensor> result;
    for (const auto& item : model.named_parameters()) result[item.key()] = item.value().grad().clone();
    return result;
}

double relative_error(const Tensor& found, const Tensor& exact) {
    return (found - exact).norm().item<double>() / exact.norm().item<double>();
}

/// Above batch x heads x time, as saved_tensors.h advises.
SavedPolicy compressing_layers(const Plan& plan) { return compressing(2 * plan.model.num_heads * 24 + 1); }

/// [of all gradients together, of the worst parameter]
std::pair<double, double> relative_errors(const std::map<std::string, Tensor>& found,
                                          const std::map<std::string, Tensor>& exact) {
    double worst = 0;
    std::vector<Tensor> all_found, all_exact;
    for (const auto& [name, gradient] : exact) {
        all_found.push_back(found.at(name).flatten());
        all_exact.push_back(gradient.flatten());
        // A bias of all keys changes no softmax but for the rotation: its gradient is what rounding leaves.
        if (!name.ends_with("k_proj.bias")) worst = std::max(worst, relative_error(found.at(name), gradient));
    }
    return {relative_error(torch::cat(all_found), torch::cat(all_exact)), worst};
}

TEST(SavedModels, GradientsOfModelsAreNearTheExactOnes) {
    for (const std::string& preset : family_presets()) {
        for (const Attention attention : {Attention::Eager, Attention::Flash}) {
            for (const Recompute mode : {Recompute::None, Recompute::Selective, Recompute::Full}) {
                for (const auto& [init_std, bound, bound_of_each] : {std::tuple{0.02, 0.015, 0.04}, {0.2, 0.1, 0.15}}) {
                    Plan plan = small_plan(preset);
                    plan.model.init_std = init_std;
                    plan.numerics.attention = attention;
                    plan.layout.recompute = mode;
                    const auto model = make_decoder(plan, 3);
                    const auto exact = gradients_within(*model, plan, {});
                    for (const bool inside : {false, true}) {
                        const auto found = gradients_within(*model, plan, compressing_layers(plan), inside);
                        const auto [of_all, worst] = relative_errors(found, exact);
                        EXPECT_LT(of_all, bound) << preset;
                        EXPECT_LT(worst, bound_of_each) << preset;
                        EXPECT_GT(of_all, 1e-5) << preset << ": nothing was compressed";
                    }
                }
            }
        }
    }
}

TEST(SavedModels, OffloadAloneIsExactToTheBit) {
    for (const std::string& preset : family_presets()) {
        for (const Recompute mode : {Recompute::None, Recompute::Full}) {
            Plan plan = small_plan(preset);
            plan.model.dropout = 0.1;
            plan.layout.recompute = mode;
            const auto model = make_decoder(plan, 3);
            const auto exact = gradients_within(*model, plan, {});
            for (const auto& [name, found] : gradients_within(*model, plan, {false, true, 1, {}})) {
                EXPECT_TRUE(torch::equal(found, exact.at(name))) << preset << " " << name;
            }
        }
    }
}

TEST(SavedModels, DropoutMasksAreExact) {
    Plan plan = small_plan("gpt2");
    plan.model.dropout = 0.2;
    const auto model = make_decoder(plan, 3);
    const auto exact = gradients_within(*model, plan, {});
    EXPECT_LT(relative_errors(gradients_within(*model, plan, compressing_layers(plan)), exact).first, 0.05);
}

/// The loss of the last of 30 steps on one batch.
double trained(const std::string& preset, const SavedPolicy& policy) {
    const Plan plan = small_plan(preset);
    const auto model = make_decoder(plan, 3);
    const Tensor tokens = random_tokens(plan, 4, 24), targets = random_tokens(plan, 4, 24, 8);
    torch::optim::Adam optimizer(model->parameters(), torch::optim::AdamOptions(5e-3));
    double loss = 0;
    for (int step = 0; step < 30; ++step) {
        optimizer.zero_grad();
        Tensor logits;
        {
            const SavedTensors scope(policy);
            logits = model->forward(tokens);
        }
        const Tensor value = language_model_loss(logits, targets);
        value.backward();
        optimizer.step();
        loss = value.item<double>();
    }
    return loss;
}

TEST(SavedModels, TrainingConvergesAsWithout) {
    for (const std::string preset : {"gpt2", "llama-7b"}) {
        const double plain = trained(preset, {}), compressed = trained(preset, compressing(4 * 24 * 4 + 1));
        EXPECT_LT(plain, 2.0) << "of " << std::log(61);
        EXPECT_NEAR(compressed, plain, 0.05 * plain) << preset;
        EXPECT_NE(compressed, plain);
    }
}

}  // namespace
}  // namespace plimsoll::engine
