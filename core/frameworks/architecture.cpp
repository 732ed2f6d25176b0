// SPDX-License-Identifier: Apache-2.0
#include "core/frameworks/architecture.h"

#include <fmt/format.h>

#include <algorithm>

namespace plimsoll {
namespace {

Count norm_size(const Workload& work) {
    return (work.model.norm == Norm::LayerNorm ? 2 : 1) * Count(work.model.hidden_size);
}

Count attention(const Workload& work) {
    const auto& m = work.model;
    const auto tp = work.layout.tp;
    const Count h = m.hidden_size, heads = share(m.num_heads, tp);
    if (work.latent.kv_rank > 0) {
        const auto& l = work.latent;
        const Count query = l.head + l.rotary;
        const Count down = l.q_rank > 0 ? h * l.q_rank + l.q_rank : Count(0);
        const Count up = (l.q_rank > 0 ? Count(l.q_rank) : h) * heads * query;
        return down + up + h * (l.kv_rank + l.rotary) + l.kv_rank + Count(l.kv_rank) * heads * (l.head + l.value) +
               heads * l.value * h;
    }
    const Count q = query_width(work), k = key_width(work);
    return h * (q + 2 * k) + q * h + (m.qkv_bias ? q + 2 * k : Count(0)) + (m.linear_bias ? h : Count(0));
}

Count mlp(const Workload& work, Count ffn) {
    const Count h = work.model.hidden_size, up = work.model.gated_mlp() ? 2 : 1;
    return (up + 1) * h * ffn + (work.model.linear_bias ? up * ffn + h : Count(0));
}

}  // namespace

Count query_width(const Workload& work) { return share(work.model.num_heads, work.layout.tp) * work.model.head_size(); }
Count key_width(const Workload& work) {
    return share(work.model.num_kv_heads, work.layout.tp) * work.model.head_size();
}

LayerShape layer_shape(const Workload& work) {
    const auto& m = work.model;
    const auto tp = work.layout.tp;
    const Count block = attention(work) + Count(m.norms_a_layer()) * norm_size(work) + m.qk_norm_size();
    LayerShape shape;
    shape.dense = block + mlp(work, share(m.ffn_hidden_size, tp));
    shape.encoder = shape.dense;
    if (work.encoder_layers > 0) shape.dense += attention(work) + norm_size(work);  // cross-attention
    if (m.moe()) {
        const Count shared = work.expert.shared_ffn > 0 ? mlp(work, share(work.expert.shared_ffn, tp)) : Count(0);
        shape.routed = block + Count(m.num_experts) * m.hidden_size + shared;
        shape.experts = share(m.num_experts, work.layout.ep) * mlp(work, share(work.expert_ffn(), work.expert_tp()));
    }
    return shape;
}

StageShape stage_shape(const Workload& work, const StageShare& stage) {
    const auto& m = work.model;
    const Count h = m.hidden_size, vocabulary = share(work.vocabulary, work.layout.tp) * h;
    const auto layer = layer_shape(work);
    StageShape shape;
    if (stage.first) {
        shape.embedding = vocabulary;
        if (m.position == Position::Learned) shape.embedding += Count(m.max_position) * h;
        if (m.position == Position::Relative) shape.embedding += 2 * 32 * share(m.num_heads, work.layout.tp);
        if (work.bert) shape.embedding += 2 * h;  // two segments
    }
    if (stage.last) {
        if (!m.tied_head || !stage.first) shape.head = vocabulary;
        // BERT's dense layer with its norm before the head, the vocabulary's bias, the pooler and the next-sentence
        // head.
        if (work.bert) shape.head += h * h + 3 * h + share(work.vocabulary, work.layout.tp) + h * h + 3 * h + 2;
    }
    const auto plain = stage.layers - stage.routed;
    shape.dense = shape.embedding + shape.head + plain * layer.dense + stage.routed * layer.routed +
                  stage.encoder_layers * layer.encoder;
    shape.experts = stage.routed * layer.experts;
    shape.layer = std::max(layer.dense, m.moe() ? layer.routed + layer.experts : Count(0));
    shape.text = fmt::format("{} layers × {}", plain, number(layer.dense));
    if (stage.routed > 0)
        shape.text +=
            fmt::format(" + {} × ({} + {} experts)", stage.routed, number(layer.routed), number(layer.experts));
    if (stage.encoder_layers > 0)
        shape.text += fmt::format(" + {} encoder layers × {}", stage.encoder_layers, number(layer.encoder));
    if (stage.last) {
        shape.dense += norm_size(work) * (work.encoder_layers > 0 ? 2 : 1);
        // A layer that predicts a further token joins two hidden states and is one more layer.
        for (std::int64_t i = 0; i < work.prediction_layers; ++i) {
            shape.dense +=
                2 * h * share(h, work.layout.tp) + 3 * norm_size(work) + (m.moe() ? layer.routed : layer.dense);
            shape.experts += layer.experts;
            // The layer uses the embedding again; only the first stage needs no other copy.
            if (!stage.first) shape.dense += vocabulary;
        }
    }
    if (shape.embedding + shape.head > 0)
        shape.text += fmt::format(" + {} embedding and head", number(shape.embedding + shape.head));
    return shape;
}

}  // namespace plimsoll
