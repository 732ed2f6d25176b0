// SPDX-License-Identifier: Apache-2.0
#include "core/plan/adapter.h"

#include <algorithm>
#include <cmath>

#include "core/plan/parameters.h"

namespace plimsoll {

namespace {

constexpr std::string_view all_linear = "all-linear", attention = "attention";

std::vector<std::string> names_in(const std::string& targets) {
    std::vector<std::string> names;
    std::string name;
    for (const char c : targets + ",") {
        if (c == ',') {
            if (!name.empty()) names.push_back(std::move(name));
            name.clear();
        } else if (c != ' ') {
            name += c;
        }
    }
    return names;
}

/// PEFT's rule: a name is the whole of a module's name or ends it behind a dot.
bool names_module(std::string_view name, std::string_view module) {
    if (!module.ends_with(name)) return false;
    return module.size() == name.size() || module[module.size() - name.size() - 1] == '.';
}

bool targets_module(const std::string& target, const LayerMatrix& matrix) {
    if (target == all_linear) return true;
    return target == attention ? !matrix.in_mlp : names_module(target, matrix.module);
}

}  // namespace

std::vector<LayerMatrix> layer_matrices(const Model& m) {
    constexpr auto columns = LayerMatrix::Split::Columns, rows = LayerMatrix::Split::Rows;
    if (m.encoder_decoder()) return {};
    const std::int64_t h = m.hidden_size, f = m.ffn_hidden_size;
    const std::int64_t q = m.num_heads * m.head_size(), kv = m.num_kv_heads * m.head_size();
    std::vector<LayerMatrix> matrices;
    if (m.family == Family::Gpt2) {
        matrices = {{"attn.c_attn", h, q + 2 * kv}, {"attn.c_proj", q, h, rows}};
        if (m.moe()) return matrices;
        matrices.push_back({"mlp.c_fc", h, f, columns, 0, true});
        matrices.push_back({"mlp.c_proj", f, h, rows, 0, true});
        return matrices;
    }
    matrices = {{"self_attn.q_proj", h, q, columns, m.num_heads},
                {"self_attn.k_proj", h, kv, columns, m.num_kv_heads},
                {"self_attn.v_proj", h, kv, columns, m.num_kv_heads},
                {"self_attn.o_proj", q, h, rows}};
    if (m.moe()) return matrices;
    matrices.push_back({"mlp.gate_proj", h, f, columns, 0, true});
    matrices.push_back({"mlp.up_proj", h, f, columns, 0, true});
    matrices.push_back({"mlp.down_proj", f, h, rows, 0, true});
    return matrices;
}

std::vector<LayerMatrix> adapted_matrices(const Plan& plan) {
    if (!adapts(plan)) return {};
    const std::vector<std::string> targets = names_in(plan.adapter.targets);
    std::vector<LayerMatrix> matrices = layer_matrices(plan.model);
    std::erase_if(matrices, [&](const LayerMatrix& matrix) {
        return std::none_of(targets.begin(), targets.end(),
                            [&](const std::string& target) { return targets_module(target, matrix); });
    });
    return matrices;
}

bool adapts(const Plan& plan, std::string_view module) {
    const std::vector<LayerMatrix> adapted = adapted_matrices(plan);
    return std::any_of(adapted.begin(), adapted.end(), [&](const auto& matrix) { return matrix.module == module; });
}

std::vector<std::string> unknown_targets(const Plan& plan) {
    std::vector<std::string> unknown = names_in(plan.adapter.targets);
    const std::vector<LayerMatrix> matrices = layer_matrices(plan.model);
    std::erase_if(unknown, [&](const std::string& target) {
        return std::any_of(matrices.begin(), matrices.end(),
                           [&](const LayerMatrix& matrix) { return targets_module(target, matrix); });
    });
    return unknown;
}

std::vector<std::string> target_modules(const Plan& plan) {
    const std::vector<LayerMatrix> all = layer_matrices(plan.model), adapted = adapted_matrices(plan);
    const auto count = [](const std::vector<LayerMatrix>& matrices, std::string_view leaf) {
        return std::count_if(matrices.begin(), matrices.end(), [&](const auto& each) { return each.leaf() == leaf; });
    };
    std::vector<std::string> names;
    for (const LayerMatrix& matrix : adapted) {
        // GPT-2 has a c_proj in attention and one in the MLP: where one of them is meant it is named in full.
        const bool alone = count(all, matrix.leaf()) == count(adapted, matrix.leaf());
        std::string name(alone ? matrix.leaf() : matrix.module);
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
    }
    return names;
}

double adapter_scale(const Adapter& adapter) {
    const auto rank = static_cast<double>(adapter.rank);
    return adapter.alpha / (adapter.rank_stabilized ? std::sqrt(rank) : rank);
}

std::int64_t adapter_parameters(const Plan& plan) {
    std::int64_t a_layer = 0;
    for (const LayerMatrix& matrix : adapted_matrices(plan)) a_layer += plan.adapter.rank * (matrix.in + matrix.out);
    return a_layer * plan.model.num_layers;
}

std::int64_t trained_parameters(const Plan& plan) {
    return adapts(plan) ? adapter_parameters(plan) : count_parameters(plan.model).total;
}

}  // namespace plimsoll
