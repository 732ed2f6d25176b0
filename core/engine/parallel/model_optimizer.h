// SPDX-License-Identifier: Apache-2.0
// The optimizer of a rank's parameters, and its states in whole tensors.
#pragma once

#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "core/engine/optimizer/offloaded_parameters.h"
#include "core/engine/optimizer/optimizer.h"
#include "core/engine/parallel/model_stages.h"
#include "core/engine/parallel/rank_parameters.h"
#include "core/engine/ranks/gathered_tensors.h"

namespace plimsoll::engine {

/// Updates what this rank owns. What it is given outlives it.
class ModelOptimizer {
public:
    ModelOptimizer(const ModelStages& stages, const RankParameters& parameters, PartSums& sums)
        : stages_(stages), parameters_(parameters), sums_(sums) {}

    /// When the weights are final; anew after others were loaded.
    Result<void> make(const Optimizer& settings);
    /// One update of this rank's parts: see ShardedOptimizer.
    Result<void> step(double lr, double inv_scale, double clip_factor);
    std::int64_t steps() const { return optimizer_->steps(); }

    /// What this rank gives of the whole states ("exp_avg/NAME", of the parameter's shape; Adafactor's are a number a
    /// row or column). Every rank calls it.
    Result<std::vector<TensorPart>> whole_state() const;
    /// From whole states. On an error nothing has changed.
    Result<void> load_state(const std::map<std::string_view, torch::Tensor>& whole, std::int64_t steps);

private:
    std::vector<OptimizedPart> parts(const Optimizer& settings) const;
    bool states_in_host_memory() const;
    Shard vector_shard(const RankParameter& parameter, StateShape shape) const;
    /// States of one kind are there for each part, so they travel kind by kind.
    Result<void> add_kind(const std::vector<OptimizerState>& states, std::vector<TensorPart>& parts) const;
    void put_back() const;

    const ModelStages& stages_;
    const RankParameters& parameters_;
    PartSums& sums_;
    std::unique_ptr<ShardedOptimizer> optimizer_;
    HeldShards* shards_ = nullptr;  ///< the optimizer's, with its states; null: parameters stay in memory
};

}  // namespace plimsoll::engine
