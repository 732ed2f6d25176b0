// SPDX-License-Identifier: Apache-2.0
// Sums of gradients over other groups of ranks than the data-parallel ones.
#pragma once

#include <utility>
#include <vector>

#include "core/engine/optimizer/optimizer.h"
#include "core/engine/parallel/model_stages.h"
#include "core/engine/parallel/rank_parameters.h"

namespace plimsoll::engine {

/// Sums over the axes of the mesh. The arguments must outlive the object.
class GradientSums final : public PartSums {
public:
    GradientSums(const ModelStages& stages, const RankParameters& parameters)
        : stages_(stages), parameters_(parameters) {}

    /// To be called once a step after the last backward: sums the gradients of which each rank holds a part (norms under
    /// sequence parallelism, shared key-value heads, a tied table on two stages).
    Result<void> finish();
    /// Sums over the ranks that hold the rest of a parameter: first shards of ZeRO, then slices of tensor parallelism.
    Result<void> sum(Over over, const std::vector<std::pair<std::size_t, torch::Tensor>>& values) override;

private:
    const ModelStages& stages_;
    const RankParameters& parameters_;
};

}  // namespace plimsoll::engine
