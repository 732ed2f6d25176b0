// SPDX-License-Identifier: Apache-2.0
// Which layers compute their activations again: one rule for the memory, the times and the engine.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/plan/plan.h"

namespace plimsoll {

/// Whether check_plan() accepts layout.recompute mlp, which supports only norms before the sublayers and plain
/// matrices.
inline bool knows_recompute_mlp(const Plan& plan) {
    return plan.model.norm_placement == NormPlacement::Pre && !plan.model.qk_norm && plan.adapter.rank == 0;
}

/// Whether the pipeline rank recomputes at all: layout.recompute_stages counts ranks, from the first, whatever chunks
/// of the model they hold.
inline bool rank_recomputes(const Layout& layout, Recompute mode, std::int64_t rank) {
    return mode != Recompute::None && (layout.recompute_stages == 0 || rank < layout.recompute_stages);
}

inline bool rank_recomputes(const Layout& layout, std::int64_t rank) {
    return rank_recomputes(layout, layout.recompute, rank);
}

/// What layer `layer` of the model (from 0, over all stages; T5's encoder layers first) recomputes on that rank. Under
/// full recomputation these are the layers 0, n, 2n, … with n = layout.recompute_every; the others keep all.
inline Recompute recompute_of(const Layout& layout, std::int64_t layer, std::int64_t rank) {
    if (!rank_recomputes(layout, layout.recompute, rank)) return Recompute::None;
    const auto every = std::max<std::int64_t>(layout.recompute_every, 1);
    return layout.recompute == Recompute::Full && layer % every != 0 ? Recompute::None : layout.recompute;
}

/// How many of the layers `first` … `first + count - 1` recompute on that rank, were layout.recompute `mode`.
inline std::int64_t recomputed_layers(const Layout& layout, Recompute mode, std::int64_t first, std::int64_t count,
                                      std::int64_t rank) {
    if (!rank_recomputes(layout, mode, rank)) return 0;
    if (mode != Recompute::Full) return count;
    const auto every = std::max<std::int64_t>(layout.recompute_every, 1);
    const auto below = [&](std::int64_t layer) { return layer / every + (layer % every != 0 ? 1 : 0); };
    return below(first + count) - below(first);
}

inline std::int64_t recomputed_layers(const Layout& layout, std::int64_t first, std::int64_t count, std::int64_t rank) {
    return recomputed_layers(layout, layout.recompute, first, count, rank);
}

}  // namespace plimsoll
