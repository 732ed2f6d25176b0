// SPDX-License-Identifier: Apache-2.0
#include "core/engine/weights/hf_export.h"

#include "core/plan/hugging_face/kept_keys.h"

namespace plimsoll::engine {

namespace {

void put_gpt2(Json& config, const Model& m) {
    config["architectures"] = {"GPT2LMHeadModel"};
    config["model_type"] = "gpt2";
    config["n_embd"] = m.hidden_size;
    config["n_layer"] = m.num_layers;
    config["n_head"] = m.num_heads;
    config["n_inner"] = m.ffn_hidden_size;
    config["n_positions"] = m.max_position;
    config["activation_function"] = m.activation == Activation::Relu ? "relu" : "gelu_new";
    config["layer_norm_epsilon"] = m.norm_eps;
    for (const char* place : {"embd_pdrop", "attn_pdrop", "resid_pdrop"}) config[place] = m.dropout;
}

const char* llama_like_class(Family family) {
    switch (family) {
        case Family::Mistral:
            return "MistralForCausalLM";
        case Family::Mixtral:
            return "MixtralForCausalLM";
        case Family::Qwen2:
            return "Qwen2ForCausalLM";
        default:
            return "LlamaForCausalLM";
    }
}

void put_llama_like(Json& config, const Model& m) {
    config["architectures"] = {llama_like_class(m.family)};
    config["model_type"] = name_of(m.family);
    config["hidden_size"] = m.hidden_size;
    config["num_hidden_layers"] = m.num_layers;
    config["num_attention_heads"] = m.num_heads;
    config["num_key_value_heads"] = m.num_kv_heads;
    if (m.head_dim > 0) config["head_dim"] = m.head_dim;
    config["intermediate_size"] = m.ffn_hidden_size;
    config["max_position_embeddings"] = m.max_position;
    config["hidden_act"] = "silu";
    config["rms_norm_eps"] = m.norm_eps;
    // transformers 4 reads rope_theta at the top level, 5 inside rope_parameters.
    config["rope_theta"] = m.rope_theta;
    config["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", m.rope_theta}};
    config["attention_dropout"] = 0.0;
    if (m.family == Family::Llama) {
        config["attention_bias"] = m.qkv_bias;
        config["mlp_bias"] = m.linear_bias;
    }
    // Attention here is full, while Mistral's default is a window of 4096.
    if (m.family == Family::Mistral || m.family == Family::Mixtral) config["sliding_window"] = nullptr;
    if (m.family == Family::Qwen2) config["use_sliding_window"] = false;
    if (m.family == Family::Mixtral) {
        config["num_local_experts"] = m.num_experts;
        config["num_experts_per_tok"] = m.experts_per_token;
        config["router_aux_loss_coef"] = m.router_aux_loss;
    }
}

std::string_view torch_dtype(Dtype dtype) {
    return dtype == Dtype::Bf16 ? "bfloat16" : dtype == Dtype::Fp16 ? "float16" : "float32";
}

}  // namespace

Json hf_config(const Plan& plan) {
    Json config = Json::object();
    if (plan.model.family == Family::Gpt2) {
        put_gpt2(config, plan.model);
    } else {
        put_llama_like(config, plan.model);
    }
    // No class of transformers computes these models; export_hf_folder() reports that.
    if (plan.model.norm_placement != NormPlacement::Pre || plan.model.qk_norm) {
        config.erase("architectures");
        config["family"] = config["model_type"];
        config["model_type"] = "plimsoll";
        config["norm_placement"] = name_of(plan.model.norm_placement);
        config["qk_norm"] = plan.model.qk_norm;
    }
    config["vocab_size"] = plan.model.vocab_size;
    config["tie_word_embeddings"] = plan.model.tied_head;
    config["initializer_range"] = plan.model.init_std;
    for (const char* token : {"bos_token_id", "eos_token_id", "pad_token_id"}) config[token] = nullptr;
    config["torch_dtype"] = torch_dtype(plan.numerics.dtype);
    const Json kept = exported_config_keys(plan);
    for (const auto& [key, value] : kept.items()) config[key] = value;
    return config;
}

}  // namespace plimsoll::engine
