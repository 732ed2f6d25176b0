// SPDX-License-Identifier: Apache-2.0
#include "core/plan/parameters.h"

#include <limits>

namespace plimsoll {

namespace {

/// Wide enough for the largest product of fields in range; results beyond int64 saturate.
__extension__ typedef __int128 Wide;

std::int64_t saturated(Wide value) {
    constexpr Wide most = std::numeric_limits<std::int64_t>::max();
    return static_cast<std::int64_t>(value > most ? most : value);
}

/// T5 has one table of relative biases a stack, in its first layer: 32 buckets x heads
/// (transformers' T5Config.relative_attention_num_buckets).
constexpr Wide relative_buckets = 32;

}  // namespace

ParameterCounts count_parameters(const Model& model) {
    const Wide hidden = model.hidden_size;
    const Wide ffn = model.ffn_hidden_size;
    const Wide layers = model.num_layers;
    const Wide query = Wide{model.num_heads} * model.head_size();
    const Wide key = Wide{model.num_kv_heads} * model.head_size();
    const Wide bias = model.linear_bias ? 1 : 0;

    const Wide norm = model.norm == Norm::LayerNorm ? 2 * hidden : hidden;
    const Wide attention =
        2 * hidden * query + 2 * hidden * key + (model.qkv_bias ? query + 2 * key : 0) + bias * hidden;
    const Wide up = model.gated_mlp() ? 2 : 1;
    const Wide expert = (up + 1) * hidden * ffn + bias * (up * ffn + hidden);
    const Wide mlp = model.moe() ? model.num_experts * (expert + hidden) : expert;

    const Wide embedding = Wide{model.vocab_size} * hidden;
    const Wide head = model.tied_head ? 0 : embedding;
    const Wide stacks = model.encoder_decoder() ? 2 : 1;
    const Wide cross = model.encoder_decoder() ? attention + norm : 0;
    const Wide encoder_layer = model.encoder_decoder() ? attention + mlp + 2 * norm : 0;
    const Wide norms = model.norms_a_layer() * norm + model.qk_norm_size();
    const Wide layer = attention + mlp + norms + cross;
    Wide positions = 0;
    if (model.position == Position::Learned) positions = Wide{model.max_position} * hidden;
    if (model.position == Position::Relative) positions = stacks * relative_buckets * model.num_heads;
    const Wide final_norm = stacks * norm;

    ParameterCounts counts;
    counts.input_embedding = saturated(embedding);
    counts.output_head = saturated(head);
    counts.positions = saturated(positions);
    counts.final_norm = saturated(final_norm);
    counts.attention = saturated(attention);
    counts.mlp = saturated(mlp);
    counts.expert = model.moe() ? saturated(expert) : 0;
    counts.norms = saturated(norms);
    counts.cross_attention = saturated(cross);
    counts.layer = saturated(layer);
    counts.encoder_layer = saturated(encoder_layer);
    counts.total = saturated(embedding + head + positions + final_norm + layers * (layer + encoder_layer));
    return counts;
}

}  // namespace plimsoll
