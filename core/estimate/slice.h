// SPDX-License-Identifier: Apache-2.0
// The parameters that one rank of a pipeline stage holds before ZeRO shards them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/estimate/count.h"
#include "core/plan/plan.h"

namespace plimsoll {

/// Tensor parallelism (Shoeybi 2019) splits q, k, v and the MLP's first matrices by columns, the attention output and
/// the MLP's last matrix by rows, embedding and head along the vocabulary; norms, row-parallel biases, learned
/// positions and MoE routers are on every rank. Expert parallelism splits the experts. Where a split is uneven, the
/// largest share is counted.
struct Slice {
    /// Consecutive layers of one of the rank's stages, counted over the model.
    struct Range {
        std::int64_t first = 0, count = 0;
    };
    std::int64_t rank = 0;  ///< of the pipeline
    std::vector<Range> ranges;
    std::int64_t layers = 0;          ///< decoder layers, and T5's encoder layers
    std::int64_t encoder_layers = 0;  ///< number of them that are T5 encoder layers
    bool first = false;               ///< holds the input embedding
    bool last = false;                ///< holds the head
    Count layer;                      ///< parameters of one (decoder) layer
    Count encoder_layer;
    Count embedding;  ///< input embedding and learned positions
    Count head;       ///< of a tied head: the copy that the last stage needs when it isn't the first
    Count positions;  ///< T5's relative biases
    Count norms;      ///< final norms
    Count adapter;    ///< numbers in the adapters of one layer
    std::shared_ptr<const Slice> adapters;  ///< they alone; null: all weights train
    Count experts;                          ///< the part of all layers that is routed experts
    Count largest;                          ///< the largest single matrix
    Count total;

    Count dense() const { return total - experts; }
    /// The part of the slice that trains: all of it, or the adapters alone.
    const Slice& trained() const { return adapters ? *adapters : *this; }
    /// How many of the layers from `from` to `to` - 1 of the model it holds and `layout` would recompute in `mode`.
    std::int64_t recomputed(const Layout& layout, Recompute mode, std::int64_t from, std::int64_t to) const;
    /// How many of its layers lie behind the last one that `layout` would recompute in `mode`.
    std::int64_t whole_behind(const Layout& layout, Recompute mode) const;
    std::string formula() const;  ///< "131,072,000 embedding + 32 layers × 202,383,360 + …"
};

/// One per pipeline stage. The plan must be possible (check_plan): T5 then has a single stage.
std::vector<Slice> slices(const Plan& plan);

}  // namespace plimsoll
