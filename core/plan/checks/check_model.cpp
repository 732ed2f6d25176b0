// SPDX-License-Identifier: Apache-2.0
#include "core/plan/checks/problems.h"

namespace plimsoll {

namespace {

void check_heads(Problems& problems, const Model& model) {
    if (model.head_dim == 0 && model.hidden_size % model.num_heads != 0) {
        problems.add("model.num_heads",
                     "model.num_heads {} does not divide model.hidden_size {}; take {} heads, or set model.head_dim",
                     model.num_heads, model.hidden_size, nearest_divisors(model.num_heads, {model.hidden_size}));
    }
    if (model.num_heads % model.num_kv_heads != 0) {
        problems.add("model.num_kv_heads",
                     "model.num_kv_heads {} does not divide model.num_heads {}; take {} key and value heads",
                     model.num_kv_heads, model.num_heads, nearest_divisors(model.num_kv_heads, {model.num_heads}));
    }
    if (model.position == Position::Rotary && model.head_size() % 2 != 0) {
        problems.add("model.head_dim",
                     "rotary positions turn pairs of numbers, but a head is {} wide; take an even model.head_dim or "
                     "another model.num_heads",
                     model.head_size());
    }
}

void check_experts(Problems& problems, const Model& model) {
    if (model.family == Family::Mixtral && !model.moe()) {
        problems.add("model.num_experts",
                     "family mixtral has experts, but model.num_experts is 0; set it (Mixtral has "
                     "8) or take family mistral");
    }
    if (model.family != Family::Mixtral && model.moe()) {
        problems.add("model.num_experts",
                     "family {} is dense, but model.num_experts is {}; set it to 0 or take family mixtral",
                     name_of(model.family), model.num_experts);
    }
    const auto only_with_experts = [&](std::string_view key, double value, std::string_view what) {
        if (model.moe() || value <= 0) return;
        problems.add(key, "{} {:g} {}, but the model has no experts; set it to 0", key, value, what);
    };
    only_with_experts("model.capacity_factor", model.capacity_factor, "limits the tokens of an expert");
    only_with_experts("model.router_z_loss", model.router_z_loss, "weighs a loss of the router");
    if (model.moe() && model.experts_per_token > model.num_experts) {
        problems.add(
            "model.experts_per_token",
            "model.experts_per_token {} is more than the {} experts there are (model.num_experts); take {} or fewer",
            model.experts_per_token, model.num_experts, model.num_experts);
    }
}

/// The families are Hugging Face's: a checkpoint of another architecture could not be read back under the name.
void check_family(Problems& problems, const Model& model) {
    const auto need = [&](std::string_view key, std::string_view found, std::string_view needed) {
        problems.add(key, "family {} needs {} {}, but it is {}; change one of them", name_of(model.family), key, needed,
                     found);
    };
    const auto need_flag = [&](std::string_view key, bool found, bool needed) {
        if (found != needed) need(key, found ? "true" : "false", needed ? "true" : "false");
    };
    const auto need_choice = [&](std::string_view key, const auto& names, auto found, auto needed) {
        if (found != needed) need(key, names[static_cast<std::size_t>(found)], names[static_cast<std::size_t>(needed)]);
    };
    const bool gpt2 = model.family == Family::Gpt2;
    const bool t5 = model.family == Family::T5;
    const Position position = gpt2 ? Position::Learned : t5 ? Position::Relative : Position::Rotary;
    need_choice("model.norm", norm_names, model.norm, gpt2 ? Norm::LayerNorm : Norm::RmsNorm);
    need_choice("model.position", position_names, model.position, position);

    const std::string_view activation = name_of(model.activation);
    if (gpt2 && model.gated_mlp()) need("model.activation", activation, "gelu or relu");
    if (t5 && model.activation == Activation::SwiGlu) need("model.activation", activation, "relu, gelu or geglu");
    if (!gpt2 && !t5) need_choice("model.activation", activation_names, model.activation, Activation::SwiGlu);

    if (gpt2) {
        need_flag("model.qkv_bias", model.qkv_bias, true);
        need_flag("model.linear_bias", model.linear_bias, true);
    } else if (model.family == Family::Llama) {
        // LlamaConfig: attention_bias and mlp_bias, both or neither.
        if (model.qkv_bias != model.linear_bias) {
            problems.add("model.qkv_bias",
                         "family llama has biases on all linear layers or on none: set model.qkv_bias "
                         "and model.linear_bias alike, or take family qwen2 for biases on q, k and v only");
        }
    } else {
        need_flag("model.qkv_bias", model.qkv_bias, model.family == Family::Qwen2);
        need_flag("model.linear_bias", model.linear_bias, false);
    }
    if ((gpt2 || t5) && model.num_kv_heads != model.num_heads) {
        problems.add("model.num_kv_heads",
                     "family {} has as many key and value heads as heads; set model.num_kv_heads to {}, it is {}",
                     name_of(model.family), model.num_heads, model.num_kv_heads);
    }
    if (gpt2 && model.head_dim != 0 && model.head_dim * model.num_heads != model.hidden_size) {
        problems.add("model.head_dim",
                     "family gpt2 has heads of hidden_size / num_heads; set model.head_dim to 0, it is {}",
                     model.head_dim);
    }
}

}  // namespace

void check_model(Problems& problems, const Model& model) {
    check_heads(problems, model);
    check_experts(problems, model);
    check_family(problems, model);
}

}  // namespace plimsoll
