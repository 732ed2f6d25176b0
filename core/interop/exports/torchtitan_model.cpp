// SPDX-License-Identifier: Apache-2.0
// The plan's model as torchtitan's llama3 module.
#include <array>

#include "core/interop/exports/torchtitan_parts.h"

namespace plimsoll::exports::torchtitan {

namespace {

struct Flavor {
    std::string_view name;
    std::int64_t hidden_size, num_layers, num_heads, ffn_hidden_size;
};
/// All three: 8 key and value heads, 128,256 words, rope base 500,000, norm epsilon 1e-5 (models/llama3/__init__.py).
constexpr std::array<Flavor, 3> flavors{
    {{"8B", 4096, 32, 32, 14336}, {"70B", 8192, 80, 64, 28672}, {"405B", 16384, 126, 128, 53248}}};

bool is(const Flavor& flavor, const Model& model) {
    return model.hidden_size == flavor.hidden_size && model.num_layers == flavor.num_layers &&
           model.num_heads == flavor.num_heads && model.ffn_hidden_size == flavor.ffn_hidden_size &&
           model.num_kv_heads == 8 && model.vocab_size == 128'256 && model.rope_theta == 500'000 &&
           model.norm_eps == 1e-5;
}

/// FeedForward of 0.2 rounds int(multiplier x int(8 hidden_size / 3)) up to a multiple of multiple_of
/// (models/llama3/model/model.py): the MLP's size itself as multiple_of gives that size from any number up to it.
std::string mlp_words(const Model& model) {
    const std::int64_t usual = 8 * model.hidden_size / 3;
    std::string words = fmt::format("multiple_of={}", model.ffn_hidden_size);
    if (usual > model.ffn_hidden_size) {
        words += fmt::format(", ffn_dim_multiplier={:.4f}",
                             static_cast<double>(model.ffn_hidden_size) / static_cast<double>(usual) / 2);
    }
    return words;
}

std::string sizes(const Model& m, Release release) {
    return fmt::format("dim={}, n_layers={}, n_heads={}, n_kv_heads={}, vocab_size={}, {}, norm_eps={}, {}={}",
                       m.hidden_size, m.num_layers, m.num_heads, m.num_kv_heads, m.vocab_size,
                       release == Release::Toml ? mlp_words(m) : fmt::format("hidden_dim={}", m.ffn_hidden_size),
                       digits(m.norm_eps), release == Release::Toml ? "rope_theta" : "theta", digits(m.rope_theta));
}

/// What the llama3 module has not, in the plan's words; empty: nothing.
std::string missing(const Model& model, const Layout& layout, Release release) {
    if (model.norm != Norm::RmsNorm || model.position != Position::Rotary || model.activation != Activation::SwiGlu)
        return fmt::format("RMSNorm, rotary positions and SwiGLU, which family {} is without", name_of(model.family));
    if (model.moe()) return "no experts, and model.num_experts is set";
    if (model.qkv_bias || model.linear_bias)
        return fmt::format("no biases, and model.{} is true", model.linear_bias ? "linear_bias" : "qkv_bias");
    if (model.head_size() * model.num_heads != model.hidden_size)
        return fmt::format("heads of hidden_size / num_heads, and model.head_dim is {}", model.head_dim);
    if (model.tied_head && release == Release::Toml) return "an output head of its own, and model.tied_head is true";
    if (model.tied_head && layout.pp > 1)
        return "no tied output head under pipeline stages, and model.tied_head is true";
    return "";
}

}  // namespace

Result<void> require_model(const Plan& plan, Release release) {
    if (plan.model.encoder_decoder()) {
        return bad_input("torchtitan has no encoder-decoder models: model.family t5 cannot be exported to it");
    }
    const std::string other = missing(plan.model, plan.layout, release);
    if (other.empty()) return {};
    return bad_input(
        "torchtitan's llama3 module has {}: it would train another model; export to Megatron-LM, or take a "
        "model of family llama or mistral",
        other);
}

std::string flavor(const Plan& plan, Release release, Notes& notes) {
    const Model& model = plan.model;
    if (model.dropout > 0) {
        notes.push_back(
            fmt::format("model.dropout {:g} is not in {}: its llama3 module has none.", model.dropout, title));
    }
    for (const Flavor& each : flavors) {
        if (!is(each, model)) continue;
        notes.push_back(fmt::format(
            "torchtitan's flavor {} scales its rotary positions as Llama 3.1 does (factor 8 from 8192 positions on).",
            each.name));
        return std::string(each.name);
    }
    const std::string name = job_name(plan);
    if (release == Release::Toml) {
        notes.push_back(fmt::format(
            "torchtitan has no flavor of this model: add \"{}\": TransformerModelArgs({}, "
            "rope_scaling_args=RoPEScalingArgs(scaling_factor=1.0)) to llama3_args in torchtitan/models/llama3/__init__.py.",
            name, sizes(model, release)));
    } else {
        notes.push_back(fmt::format(
            "torchtitan has no flavor of this model: add one to llama3_configs in torchtitan/models/llama3/__init__.py "
            "({}, RoPE without scaling{}), and to its config_registry.py the function that --config names.",
            sizes(model, release), model.tied_head ? ", enable_weight_tying=True" : ""));
    }
    return name;
}

}  // namespace plimsoll::exports::torchtitan
