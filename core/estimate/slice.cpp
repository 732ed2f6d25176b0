// SPDX-License-Identifier: Apache-2.0
#include "core/estimate/slice.h"

#include <algorithm>

#include "core/base/result.h"
#include "core/base/units.h"
#include "core/plan/adapter.h"
#include "core/plan/parameters.h"
#include "core/plan/recompute_rules.h"
#include "core/schedule/schedule.h"
#include "core/schedule/stage_times.h"

namespace plimsoll {
namespace {

struct LayerSlice {
    Count decoder, encoder, experts, largest;
};

LayerSlice layer_slice(const Plan& plan) {
    const auto& m = plan.model;
    const auto tp = plan.layout.tp;
    const Count h = m.hidden_size;
    const Count q = share(Count(m.num_heads) * m.head_size(), tp);
    // With more ranks than key and value heads, each rank holds one head.
    const Count kv = share(m.num_kv_heads, tp) * m.head_size();
    const Count f = share(m.ffn_hidden_size, tp);
    const Count up = m.gated_mlp() ? 2 : 1;
    const Count bias = m.linear_bias ? 1 : 0;
    const Count norm = m.norm == Norm::LayerNorm ? 2 * h : h;

    const Count attention = 2 * h * q + 2 * h * kv + (m.qkv_bias ? q + 2 * kv : Count(0)) + bias * h;
    const Count mlp = (up + 1) * h * f + bias * (up * f + h);
    const Count experts = m.moe() ? share(m.num_experts, plan.layout.ep) * mlp : Count(0);
    const Count routed = m.moe() ? experts + m.num_experts * h : mlp;
    const Count block = attention + routed + m.norms_a_layer() * norm + m.qk_norm_size();
    return {m.encoder_decoder() ? block + attention + norm : block, m.encoder_decoder() ? block : Count(0), experts,
            std::max(h * q, h * f)};
}

struct AdapterSlice {
    Count layer, largest;
};

AdapterSlice adapter_slice(const Plan& plan) {
    const auto tp = plan.layout.tp;
    const Count rank = plan.adapter.rank;
    AdapterSlice sum;
    for (const LayerMatrix& matrix : adapted_matrices(plan)) {
        const bool rows = matrix.split == LayerMatrix::Split::Rows;
        // With more ranks than key and value heads, each rank holds one head.
        const Count out =
            matrix.heads > 0 ? share(matrix.heads, tp) * (matrix.out / matrix.heads) : share(matrix.out, rows ? 1 : tp);
        const Count a = rank * share(matrix.in, rows ? tp : 1), b = rank * out;
        sum.layer += a + b;
        sum.largest = std::max({sum.largest, a, b});
    }
    return sum;
}

}  // namespace

std::vector<Slice> slices(const Plan& plan) {
    const auto& m = plan.model;
    const auto layers = layers_per_rank(plan);
    const auto one = layer_slice(plan);
    const auto adapter = adapter_slice(plan);
    const auto where = stages_on_ranks(plan);
    std::vector<std::vector<Slice::Range>> ranges(layers.size());
    std::int64_t next = 0;
    int place = 0;
    for (const auto count : layers_per_stage(plan)) {
        ranges[static_cast<std::size_t>(where.rank_of(place++))].push_back({next, count});
        next += count;
    }
    const Count h = m.hidden_size;
    const Count vocabulary = share(m.vocab_size, plan.layout.tp) * h;
    const Count norm = m.norm == Norm::LayerNorm ? 2 * h : h;
    const Count stacks = m.encoder_decoder() ? 2 : 1;

    std::vector<Slice> result;
    for (std::size_t stage = 0; stage < layers.size(); ++stage) {
        Slice slice;
        slice.rank = static_cast<std::int64_t>(stage);
        slice.ranges = ranges[stage];
        slice.first = stage == 0;
        slice.last = static_cast<std::int64_t>(stage) == head_rank(plan);
        slice.layers = layers[stage];
        slice.encoder_layers = m.encoder_decoder() ? layers[stage] / 2 : 0;
        slice.layer = one.decoder;
        slice.encoder_layer = one.encoder;
        if (slice.first) slice.embedding = vocabulary;
        if (slice.first && m.position == Position::Learned) slice.embedding += Count(m.max_position) * h;
        // T5 has one table of 32 buckets x heads in the first layer of each stack.
        if (slice.first && m.position == Position::Relative)
            slice.positions = stacks * 32 * share(m.num_heads, plan.layout.tp);
        if (slice.last) slice.norms = stacks * norm;
        if (slice.last && (!m.tied_head || !slice.first)) slice.head = vocabulary;
        slice.adapter = adapter.layer;
        slice.experts = slice.layers * one.experts;
        slice.largest = std::max(one.largest, slice.first || slice.last ? vocabulary : Count(0));
        slice.total = slice.embedding + slice.positions + slice.encoder_layers * slice.encoder_layer +
                      (slice.layers - slice.encoder_layers) * (slice.layer + slice.adapter) + slice.norms + slice.head;
        if (adapts(plan)) {
            Slice own;
            own.rank = slice.rank;
            own.ranges = slice.ranges;
            own.layers = slice.layers;
            own.first = slice.first;
            own.last = slice.last;
            own.layer = adapter.layer;
            own.largest = adapter.largest;
            own.total = slice.layers * adapter.layer;
            slice.adapters = std::make_shared<const Slice>(std::move(own));
        }
        result.push_back(slice);
    }
    return result;
}

std::int64_t Slice::recomputed(const Layout& layout, Recompute mode, std::int64_t from, std::int64_t to) const {
    std::int64_t sum = 0;
    for (const auto& range : ranges) {
        const auto begin = std::max(range.first, from), end = std::min(range.first + range.count, to);
        if (begin < end) sum += recomputed_layers(layout, mode, begin, end - begin, rank);
    }
    return sum;
}

std::int64_t Slice::whole_behind(const Layout& layout, Recompute mode) const {
    std::int64_t behind = 0;
    for (auto range = ranges.rbegin(); range != ranges.rend(); ++range) {
        for (std::int64_t at = range->first + range->count; at-- > range->first; ++behind)
            if (recomputed_layers(layout, mode, at, 1, rank) > 0) return behind;
    }
    return behind;
}

std::string Slice::formula() const {
    std::string sum;
    const auto add = [&](const std::string& part) { sum += (sum.empty() ? "" : " + ") + part; };
    if (embedding > 0) add(format_count(embedding.value()) + " embedding");
    if (encoder_layers > 0)
        add(fmt::format("{} encoder layers × {}", encoder_layers, format_count(encoder_layer.value())));
    if (layers > encoder_layers)
        add(fmt::format("{} layers × {}", layers - encoder_layers, format_count(layer.value())));
    if (adapter > 0) add(fmt::format("{} layers × {} of adapters", layers, format_count(adapter.value())));
    if (positions > 0) add(format_count(positions.value()) + " relative positions");
    if (norms > 0) add(format_count(norms.value()) + " final norm");
    if (head > 0) add(format_count(head.value()) + " head");
    return sum;
}

}  // namespace plimsoll
