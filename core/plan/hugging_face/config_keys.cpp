// SPDX-License-Identifier: Apache-2.0
#include "core/plan/hugging_face/config_keys.h"

#include <array>

namespace plimsoll {

namespace {

using enum KeyUse;

constexpr std::string_view token = "a number of the tokenizer";
constexpr std::string_view generation = "a setting of generation";
constexpr std::string_view classifier = "of a classifier's head";
constexpr std::string_view program = "what the reading program returns or how it runs";
constexpr std::string_view file = "of the file";
constexpr std::string_view experts = "experts, which this family has not here";
constexpr std::string_view latent = "multi-head latent attention";
constexpr std::string_view encoder = "an encoder";
constexpr std::string_view more_dropout = "dropout at a place of its own";

/// Of every family.
constexpr FileKey common[] = {
    {"model_type", Understood, "model.family"},
    {"architectures", Judged, "a model of another class"},
    {"vocab_size", Understood, "model.vocab_size"},
    {"tie_word_embeddings", Understood, "model.tied_head"},
    {"initializer_range", Understood, "model.init_std"},
    {"_name_or_path", Understood, "model.name"},
    {"torch_dtype", Understood, "compared with numerics.dtype"},
    {"dtype", Understood, "compared with numerics.dtype"},
    {"num_hidden_layers", Understood, "model.num_layers"},
    {"num_attention_heads", Understood, "model.num_heads"},
    {"hidden_size", Understood, "model.hidden_size"},
    {"max_position_embeddings", Understood, "model.max_position"},

    {"bos_token_id", Kept, token},
    {"eos_token_id", Kept, token},
    {"pad_token_id", Kept, token},
    {"sep_token_id", Kept, token},
    {"unk_token_id", Kept, token},
    {"cls_token_id", Kept, token},
    {"mask_token_id", Kept, token},
    {"decoder_start_token_id", Kept, token},
    {"tokenizer_class", Kept, "the tokenizer's class"},
    {"model_max_length", Kept, "a limit of the tokenizer"},
    {"max_sequence_length", Kept, "a limit of the tokenizer"},
    {"prefix", Kept, generation},
    {"max_length", Kept, generation},
    {"min_length", Kept, generation},
    {"max_new_tokens", Kept, generation},
    {"do_sample", Kept, generation},
    {"early_stopping", Kept, generation},
    {"num_beams", Kept, generation},
    {"num_beam_groups", Kept, generation},
    {"diversity_penalty", Kept, generation},
    {"temperature", Kept, generation},
    {"top_k", Kept, generation},
    {"top_p", Kept, generation},
    {"typical_p", Kept, generation},
    {"repetition_penalty", Kept, generation},
    {"length_penalty", Kept, generation},
    {"no_repeat_ngram_size", Kept, generation},
    {"encoder_no_repeat_ngram_size", Kept, generation},
    {"bad_words_ids", Kept, generation},
    {"num_return_sequences", Kept, generation},
    {"output_scores", Kept, generation},
    {"return_dict_in_generate", Kept, generation},
    {"forced_bos_token_id", Kept, generation},
    {"forced_eos_token_id", Kept, generation},
    {"remove_invalid_values", Kept, generation},
    {"exponential_decay_length_penalty", Kept, generation},
    {"suppress_tokens", Kept, generation},
    {"begin_suppress_tokens", Kept, generation},
    {"encoder_repetition_penalty", Kept, generation},
    {"epsilon_cutoff", Kept, generation},
    {"eta_cutoff", Kept, generation},
    {"num_assistant_tokens", Kept, generation},
    {"num_assistant_tokens_schedule", Kept, generation},
    {"assistant_confidence_threshold", Kept, generation},
    {"assistant_lookbehind", Kept, generation},
    {"target_lookbehind", Kept, generation},
    {"task_specific_params", Kept, generation},
    {"use_cache", Kept, generation},
    {"id2label", Kept, classifier},
    {"label2id", Kept, classifier},
    {"num_labels", Kept, classifier},
    {"_num_labels", Kept, classifier},
    {"problem_type", Kept, classifier},
    {"finetuning_task", Kept, classifier},
    {"classifier_dropout", Kept, classifier},
    {"is_decoder", Kept, "whether attention is causal, which it is in these families in any case"},
    {"pretraining_tp", Kept, "products of matrices in parts, whose sum is the same"},
    {"chunk_size_feed_forward", Kept, "the MLP in pieces of the sequence, whose result is the same"},
    {"is_llama_config", Kept, "read by nothing in transformers"},
    {"unsloth_version", Kept, "of the tool that wrote the file"},
    {"unsloth_fixed", Kept, "of the tool that wrote the file"},

    {"transformers_version", Harmless, file},
    {"_commit_hash", Harmless, file},
    {"name_or_path", Harmless, file},
    {"output_attentions", Harmless, program},
    {"output_hidden_states", Harmless, program},
    {"return_dict", Harmless, program},
    {"use_return_dict", Harmless, program},
    {"torchscript", Harmless, program},
    {"use_bfloat16", Harmless, program},
    {"tf_legacy_loss", Harmless, program},
    {"attn_implementation", Harmless, program},
    {"_attn_implementation", Harmless, program},
    {"_attn_implementation_autoset", Harmless, program},
    {"_attn_implementation_internal", Harmless, program},
    {"_experts_implementation", Harmless, program},
    {"_flash_attn_2_enabled", Harmless, program},
    {"use_flash_attention", Harmless, program},
    {"use_flash_attn", Harmless, program},
    {"gradient_checkpointing", Harmless, "layout.recompute says it"},

    {"is_encoder_decoder", Judged, encoder},
    {"add_cross_attention", Judged, encoder},
    {"cross_attention_hidden_size", Judged, encoder},
    {"tie_encoder_decoder", Judged, encoder},
    {"text_config", Judged, "a model of several parts"},
    {"vision_config", Judged, "a model of several parts"},
    {"per_layer_config", Judged, "layers that are not alike"},
    {"block_configs", Judged, "layers that are not alike"},
    {"pruned_heads", Judged, "layers that lack some heads"},
    {"n_routed_experts", Judged, experts},
    {"n_shared_experts", Judged, experts},
    {"moe_intermediate_size", Judged, experts},
    {"shared_expert_intermediate_size", Judged, experts},
    {"first_k_dense_replace", Judged, experts},
    {"kv_lora_rank", Judged, latent},
    {"q_lora_rank", Judged, latent},

    {"quantization_config", Judged, "weights that are stored quantized"},
    {"compression_config", Judged, "weights that are stored quantized"},
    {"auto_map", Judged, "code of the model's own (trust_remote_code)"},
    {"attn_logit_softcapping", Judged, "a cap on the scores of attention"},
    {"final_logit_softcapping", Judged, "a cap on the logits"},
    {"query_pre_attn_scalar", Judged, "a scale of its own for the scores of attention"},
    {"attention_multiplier", Judged, "a scale of its own for the scores of attention"},
    {"logit_scale", Judged, "scaled logits", "1|1.0"},
    {"logits_scaling", Judged, "scaled logits", "1|1.0"},
    {"embedding_multiplier", Judged, "scaled embeddings", "1|1.0"},
    {"residual_multiplier", Judged, "scaled residuals", "1|1.0"},
    {"clip_qkv", Judged, "queries, keys and values that are clipped"},
    {"qk_layernorm", Judged, "norms on queries and keys"},
    {"use_qk_norm", Judged, "norms on queries and keys"},
    {"qk_norm", Judged, "norms on queries and keys"},
    {"alibi", Judged, "positions by ALiBi"},
    {"parallel_attn", Judged, "attention and MLP side by side"},
    {"use_parallel_residual", Judged, "attention and MLP side by side"},
    {"partial_rotary_factor", Judged, "rotary positions on a part of each head", "1|1.0"},
    {"rotary_pct", Judged, "rotary positions on a part of each head", "1|1.0"},
    {"rope_interleaved", Judged, "rotary positions that turn neighbouring numbers"},
    {"no_rope_layers", Judged, "layers without rotary positions"},
    {"attention_chunk_size", Judged, "attention in chunks of the sequence"},
    {"num_nextn_predict_layers", Judged, "layers that predict tokens further ahead"},
    {"use_bias", Judged, "biases of a kind of its own"},
    {"use_qkv_bias", Judged, "biases of a kind of its own"},
    {"hidden_dropout", Judged, more_dropout},
    {"hidden_dropout_prob", Judged, more_dropout},
    {"residual_dropout", Judged, more_dropout},
    {"embedding_dropout", Judged, more_dropout},
    {"sliding_window", Judged, "a window of attention"},
    {"layer_types", Judged, "layers with attention of several kinds"},
};

constexpr FileKey gpt2[] = {
    {"n_embd", Understood, "model.hidden_size"},
    {"n_layer", Understood, "model.num_layers"},
    {"n_head", Understood, "model.num_heads"},
    {"n_inner", Understood, "model.ffn_hidden_size"},
    {"n_positions", Understood, "model.max_position"},
    {"n_ctx", Judged, "another length than n_positions"},
    {"layer_norm_epsilon", Understood, "model.norm_eps"},
    {"activation_function", Judged, "another activation"},
    {"resid_pdrop", Understood, "model.dropout"},
    {"embd_pdrop", Understood, "model.dropout"},
    {"attn_pdrop", Understood, "model.dropout"},
    {"summary_type", Kept, classifier},
    {"summary_use_proj", Kept, classifier},
    {"summary_activation", Kept, classifier},
    {"summary_proj_to_labels", Kept, classifier},
    {"summary_first_dropout", Kept, classifier},
    {"reorder_and_upcast_attn", Kept, "precision and order of the scores' product, not its value"},
    {"scale_attn_weights", Judged, "scores of attention without the scale 1/sqrt(head)", "true"},
    {"scale_attn_by_inverse_layer_idx", Judged, "scores of attention divided by the layer's number"},
    {"num_experts", Judged, experts},
    {"num_local_experts", Judged, experts},
    {"num_experts_per_tok", Judged, experts},
};

constexpr FileKey llama_like[] = {
    {"num_key_value_heads", Understood, "model.num_kv_heads"},
    {"head_dim", Understood, "model.head_dim"},
    {"intermediate_size", Understood, "model.ffn_hidden_size"},
    {"rms_norm_eps", Understood, "model.norm_eps"},
    {"rope_theta", Understood, "model.rope_theta"},
    {"hidden_act", Understood, "model.activation"},
    {"attention_dropout", Understood, "0, or refused"},
    {"rope_scaling", Judged, "scaled rotary positions"},
    {"rope_parameters", Judged, "scaled rotary positions"},
    {"attention_bias", Judged, "biases of attention"},
    {"mlp_bias", Judged, "biases of the MLP"},
};

constexpr FileKey mixtral[] = {
    {"num_local_experts", Understood, "model.num_experts"},
    {"num_experts", Understood, "model.num_experts"},
    {"num_experts_per_tok", Understood, "model.experts_per_token"},
    {"router_aux_loss_coef", Understood, "model.router_aux_loss"},
    {"output_router_logits", Kept, "whether transformers adds the router's loss; model.router_aux_loss says it here"},
    {"router_jitter_noise", Judged, "noise on the router's input"},
};

constexpr FileKey dense[] = {
    {"num_experts", Judged, experts},         {"num_local_experts", Judged, experts},
    {"num_experts_per_tok", Judged, experts}, {"decoder_sparse_step", Judged, experts},
    {"mlp_only_layers", Judged, experts},     {"norm_topk_prob", Judged, experts},
};

constexpr FileKey qwen2[] = {
    {"use_sliding_window", Judged, "a window of attention"},
    {"max_window_layers", Judged, "a window of attention in some layers"},
    {"use_mrope", Judged, "rotary positions in three parts"},
};

constexpr std::array<std::string_view, 4> of_the_window{"sliding_window", "use_sliding_window", "max_window_layers",
                                                        "layer_types"};

}  // namespace

std::vector<FileKey> config_keys(Family family) {
    std::vector<FileKey> all(std::begin(common), std::end(common));
    const auto append = [&](const auto& rows) { all.insert(all.end(), std::begin(rows), std::end(rows)); };
    if (family == Family::Gpt2) {
        append(gpt2);
        return all;
    }
    append(llama_like);
    if (family == Family::Mixtral) {
        append(mixtral);
    } else {
        append(dense);
    }
    if (family == Family::Qwen2) append(qwen2);
    return all;
}

std::span<const std::string_view> window_keys() { return of_the_window; }

}  // namespace plimsoll
