// SPDX-License-Identifier: Apache-2.0
// Which matrices of a model get a low-rank adapter, and the numbers that adapters add (LoRA, Hu 2021, 2106.09685).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan/plan.h"

namespace plimsoll {

/// A matrix of a decoder layer, y = x W.
struct LayerMatrix {
    std::string_view module;  ///< transformers' name in the layer: "self_attn.q_proj"
    std::int64_t in = 0, out = 0;
    enum class Split { Columns, Rows } split = Split::Columns;  ///< what tensor-parallel ranks split
    std::int64_t heads = 0;  ///< key-value heads, of which each rank has one at least
    bool in_mlp = false;

    /// "q_proj".
    std::string_view leaf() const { return module.substr(module.rfind('.') + 1); }
};

/// The matrices that can have an adapter, in the order of the forward pass: those of attention and of a dense MLP.
/// Routed experts have no adapters (PEFT's all-linear leaves them out too), and neither has T5.
std::vector<LayerMatrix> layer_matrices(const Model& model);

/// Whether adapters train in place of the weights.
inline bool adapts(const Plan& plan) { return plan.adapter.rank > 0; }
/// The highest ZeRO stage that can be trained: weights beside adapters are whole on each data-parallel rank.
inline std::int64_t most_zero_stage(const Plan& plan) { return adapts(plan) ? 2 : 3; }
/// The matrix with that name in the layer.
bool adapts(const Plan& plan, std::string_view module);
/// The matrices of layer_matrices() that get an adapter; empty without adapters.
std::vector<LayerMatrix> adapted_matrices(const Plan& plan);
/// The names in `targets` that name no matrix of the model.
std::vector<std::string> unknown_targets(const Plan& plan);
/// Their leaves, each once, as PEFT's target_modules.
std::vector<std::string> target_modules(const Plan& plan);

/// What B A is multiplied by.
double adapter_scale(const Adapter& adapter);
/// Numbers in all adapters: rank (in + out) a matrix.
std::int64_t adapter_parameters(const Plan& plan);
/// Number of parameters that a run trains: those of the model, or those of its adapters.
std::int64_t trained_parameters(const Plan& plan);

}  // namespace plimsoll
