// SPDX-License-Identifier: Apache-2.0
// The model in Megatron-LM's arguments.
#include <algorithm>
#include <cmath>

#include "core/interop/exports/megatron_parts.h"

namespace plimsoll::exports::megatron_lm {

namespace {

void sizes(CommandLine& line, const Plan& plan) {
    const Model& m = plan.model;
    line.option("--num-layers", m.num_layers)
        .option("--hidden-size", m.hidden_size)
        .option("--ffn-hidden-size", m.ffn_hidden_size)
        .option("--num-attention-heads", m.num_heads)
        .option("--kv-channels", m.head_size())
        .option("--seq-length", plan.data.sequence_length)
        .option("--max-position-embeddings", std::max(m.max_position, plan.data.sequence_length))
        .option("--normalization", m.norm == Norm::RmsNorm ? "RMSNorm" : "LayerNorm")
        .number("--norm-epsilon", m.norm_eps)
        .number("--init-method-std", m.init_std)
        .number("--hidden-dropout", m.dropout)
        .number("--attention-dropout", m.dropout);
    if (m.num_kv_heads < m.num_heads) {
        line.flag("--group-query-attention").option("--num-query-groups", m.num_kv_heads);
    }
    if (m.position == Position::Rotary) {
        line.option("--position-embedding-type", "rope")
            .option("--rotary-base", static_cast<std::int64_t>(std::llround(m.rope_theta)));
    } else {
        line.option("--position-embedding-type", "learned_absolute");
    }
    if (m.activation == Activation::SwiGlu) line.flag("--swiglu");
    if (!m.linear_bias) line.flag("--disable-bias-linear");
    if (m.qkv_bias && !m.linear_bias) line.flag("--add-qkv-bias");
    if (!m.tied_head) line.flag("--untie-embeddings-and-output-weights");
    if (m.qk_norm) line.flag("--qk-layernorm");
}

void stability(CommandLine& line, const Plan& plan, Notes& notes) {
    const Model& m = plan.model;
    if (m.qk_norm && m.norm != Norm::RmsNorm) {
        notes.push_back(
            "--qk-layernorm norms queries and keys with the model's LayerNorm: model.qk_norm is an RMSNorm.");
    }
    if (m.mup_base_width > 0) {
        // The attention's scale stays 1/sqrt(head), since widths grow by heads.
        line.flag("--use-mup").option("--mup-base-hidden-size", m.mup_base_width).number("--mup-attn-scale-power", 0.5);
        notes.push_back(
            "Megatron-LM's muP scales the logits where model.mup_base_width scales the head's weights and their rate.");
    }
    note_stability(plan, title, {.qk_norm = true, .mup = true}, notes);
    note_kept_keys(plan, title, notes);
    note_adapters(plan, title, false, notes);
}

void experts(CommandLine& line, const Plan& plan) {
    const Model& m = plan.model;
    if (!m.moe()) return;
    line.option("--num-experts", m.num_experts)
        .option("--moe-router-topk", m.experts_per_token)
        .option("--moe-router-load-balancing-type", "seq_aux_loss")
        .number("--moe-aux-loss-coeff", m.router_aux_loss)
        .option("--moe-token-dispatcher-type", "alltoall")
        .option("--expert-model-parallel-size", plan.layout.ep);
    if (m.router_z_loss > 0) line.number("--moe-z-loss-coeff", m.router_z_loss);
    if (m.capacity_factor > 0) line.number("--moe-expert-capacity-factor", m.capacity_factor);
}

/// Rows of the embedding: each tensor-parallel rank holds as many (megatron/core/tokenizers/utils/build_tokenizer.py).
void note_vocabulary(const Plan& plan, Notes& notes) {
    const std::int64_t size = plan.model.vocab_size, tp = plan.layout.tp;
    if (size % tp == 0) return;
    notes.push_back(fmt::format("Megatron-LM pads model.vocab_size {} to {}, so that layout.tp {} divides it.", size,
                                (size + tp - 1) / tp * tp, tp));
}

}  // namespace

void model(CommandLine& line, const Plan& plan, Notes& notes) {
    sizes(line, plan);
    stability(line, plan, notes);
    experts(line, plan);
    note_vocabulary(plan, notes);
    const Activation activation = plan.model.activation;
    if (activation != Activation::SwiGlu && activation != Activation::Gelu) {
        notes.push_back(fmt::format("model.activation {} is not in {}: its MLP is GELU, or SwiGLU with --swiglu.",
                                    name_of(activation), title));
    }
}

}  // namespace plimsoll::exports::megatron_lm
