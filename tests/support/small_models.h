// SPDX-License-Identifier: Apache-2.0
// Small plans of each family, and helpers on tensors.
#pragma once

#include <torch/torch.h>

#include "core/engine/model/decoder.h"
#include "core/plan/presets.h"

namespace plimsoll::engine {

/// The preset cut down so that it runs in a test; what makes its family special (grouped heads, biases, head) stays.
inline Plan small_plan(const std::string& preset) {
    Plan plan;
    plan.model = model_preset(preset).value();
    Model& m = plan.model;
    const std::int64_t group = m.num_heads / m.num_kv_heads;
    m.num_heads = group == 1 ? 4 : 2 * group;
    m.num_kv_heads = m.num_heads / group;
    m.hidden_size = 8 * m.num_heads;
    m.head_dim = 0;
    m.ffn_hidden_size = 3 * m.hidden_size;
    m.num_layers = 2;
    m.vocab_size = 61;
    m.max_position = 24;
    m.dropout = 0;
    m.init_std = 0.2;  // far from the linear regime, where mistakes would hide
    return plan;
}

/// A model of every architecture that can be trained.
inline const std::vector<std::string>& family_presets() {
    static const std::vector<std::string> presets{"gpt2", "llama-7b", "llama-2-70b", "mistral-7b", "qwen2.5-7b"};
    return presets;
}

inline torch::Tensor random_tokens(const Plan& plan, std::int64_t batch, std::int64_t time, std::uint64_t seed = 7) {
    auto generator = at::make_generator<at::CPUGeneratorImpl>(seed);
    return at::randint(plan.model.vocab_size, {batch, time}, generator, torch::TensorOptions().dtype(torch::kLong));
}

inline double largest_difference(const torch::Tensor& a, const torch::Tensor& b) {
    return (a.to(torch::kDouble) - b.to(torch::kDouble)).abs().max().item<double>();
}

/// Gradients of the loss by name, from a backward pass under a fixed dropout seed.
inline std::map<std::string, torch::Tensor> gradients(Decoder& model, const torch::Tensor& tokens,
                                                      const torch::Tensor& targets) {
    model.zero_grad();
    torch::manual_seed(11);
    language_model_loss(model.forward(tokens), targets).backward();
    std::map<std::string, torch::Tensor> result;
    for (const auto& item : model.named_parameters()) result[item.key()] = item.value().grad().clone();
    return result;
}

}  // namespace plimsoll::engine
