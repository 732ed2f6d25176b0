// SPDX-License-Identifier: Apache-2.0
// The architecture of a transformer, in the field's terms.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace plimsoll {

enum class Family { Gpt2, Llama, Mistral, Mixtral, Qwen2, T5 };
inline constexpr std::array<std::string_view, 6> family_names{"gpt2", "llama", "mistral", "mixtral", "qwen2", "t5"};
inline constexpr std::string_view name_of(Family family) { return family_names[static_cast<std::size_t>(family)]; }

enum class Norm { LayerNorm, RmsNorm };
inline constexpr std::array<std::string_view, 2> norm_names{"layernorm", "rmsnorm"};

enum class Position { Learned, Rotary, Relative };
inline constexpr std::array<std::string_view, 3> position_names{"learned", "rotary", "relative"};

/// Relu and Gelu have two MLP matrices, SwiGlu and GeGlu three.
enum class Activation { Gelu, Relu, SwiGlu, GeGlu };
inline constexpr std::array<std::string_view, 4> activation_names{"gelu", "relu", "swiglu", "geglu"};
inline constexpr std::string_view name_of(Activation activation) {
    return activation_names[static_cast<std::size_t>(activation)];
}

/// Where a layer's norms stand, with x the residual stream and f attention or the MLP.
enum class NormPlacement {
    Pre,       ///< x + f(norm(x)) (GPT-2, LLaMA)
    Post,      ///< norm(x + f(x)) (Vaswani 2017)
    Sandwich,  ///< x + norm(f(norm(x))) (CogView, Ding 2021; Peri-LN, Kim 2025)
    DeepNorm,  ///< norm(a x + f(x)), a = (2 layers)^(1/4), with initial weights of its own (Wang 2022)
};
inline constexpr std::array<std::string_view, 4> norm_placement_names{"pre", "post", "sandwich", "deepnorm"};
inline constexpr std::string_view name_of(NormPlacement placement) {
    return norm_placement_names[static_cast<std::size_t>(placement)];
}

/// Initial weights of matrices (core/engine/model/init.h).
enum class Init {
    Gpt2,   ///< normal(0, init_std); what writes to the residual stream smaller by 1 / sqrt(2 layers)
    Plain,  ///< all normal(0, init_std)
    Guide,  ///< what writes to the residual stream 1 / sqrt(2 layers), q, k and v 0.02, an output head of its own 0
};
inline constexpr std::array<std::string_view, 3> init_names{"gpt2", "plain", "guide"};
inline constexpr std::string_view name_of(Init init) { return init_names[static_cast<std::size_t>(init)]; }

struct Model {
    std::string preset;   ///< name of a file in presets/models, or empty
    std::string name;     ///< shown to a person
    std::string weights;  ///< folder of a Hugging Face checkpoint to start from; empty: initial weights by seed
    Family family = Family::Llama;
    std::int64_t hidden_size = 128;
    std::int64_t num_layers = 4;  ///< decoder layers; of T5 also the encoder layers
    std::int64_t num_heads = 4;
    std::int64_t num_kv_heads = 4;  ///< fewer than num_heads: grouped-query attention
    std::int64_t head_dim = 0;      ///< 0: hidden_size / num_heads
    std::int64_t ffn_hidden_size = 344;
    std::int64_t vocab_size = 256;
    std::int64_t max_position = 2048;
    Norm norm = Norm::RmsNorm;
    Position position = Position::Rotary;
    Activation activation = Activation::SwiGlu;
    bool qkv_bias = false;         ///< biases on the q, k, v projections (Qwen2, GPT-2)
    bool linear_bias = false;      ///< biases on every other linear layer (GPT-2)
    bool tied_head = false;        ///< output head shares the input embedding
    std::int64_t num_experts = 0;  ///< 0: dense
    std::int64_t experts_per_token = 2;
    double capacity_factor = 0;     ///< tokens an expert takes, as a multiple of its even share; 0: all (dropless)
    double router_aux_loss = 0.01;  ///< weight of the load-balance loss (Switch, Fedus 2021)
    double router_z_loss = 0;       ///< weight of the router's z-loss (ST-MoE, Zoph 2022)
    double rope_theta = 10000.0;
    double norm_eps = 1e-5;
    double dropout = 0.0;
    double init_std = 0.02;
    NormPlacement norm_placement = NormPlacement::Pre;
    bool qk_norm = false;  ///< an RMSNorm over each head of q and k (Dehghani 2023; Qwen3's form)
    Init init = Init::Gpt2;
    /// Above 0: initial weights and learning rates of matrices are those that suit a model of this hidden_size (muP,
    /// Yang 2022, table 3).
    std::int64_t mup_base_width = 0;
    double z_loss = 0;              ///< weight of the mean of (log Σ exp logits)² (PaLM, Chowdhery 2022: 1e-4)
    double embedding_gradient = 1;  ///< factor on the embedding's gradient (GLM-130B, Zeng 2022: 0.1)

    std::int64_t head_size() const { return head_dim > 0 ? head_dim : (num_heads > 0 ? hidden_size / num_heads : 0); }
    bool gated_mlp() const { return activation == Activation::SwiGlu || activation == Activation::GeGlu; }
    bool moe() const { return num_experts > 0; }
    bool encoder_decoder() const { return family == Family::T5; }
    /// Norms of the residual stream in a layer.
    std::int64_t norms_a_layer() const { return norm_placement == NormPlacement::Sandwich ? 4 : 2; }
    /// Numbers in the norms of q and k in a layer.
    std::int64_t qk_norm_size() const { return qk_norm ? 2 * head_size() : 0; }
    /// hidden_size as a multiple of the width that the learning rate was tuned for.
    double width_factor() const {
        return mup_base_width > 0 ? static_cast<double>(hidden_size) / static_cast<double>(mup_base_width) : 1;
    }

    bool operator==(const Model&) const = default;
};

}  // namespace plimsoll
