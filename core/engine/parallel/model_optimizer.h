// SPDX-License-Identifier: Apache-2.0
// The optimizer of a rank's parameters, and its states as whole tensors.
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

/// Updates the parts that this rank owns. The arguments must outlive the object.
class ModelOptimizer {
public:
    ModelOptimizer(const ModelStages& stages, const RankParameters& parameters, PartSums& sums)
        : stages_(stages), parameters_(parameters), sums_(sums) {}

    /// To be called when the weights are final: masters are copied from them. After weights were loaded, once more.
    Result<void> make(const Optimizer& settings);
    /// Updates this rank's parts once: see ShardedOptimizer.
    Result<void> step(double lr, double inv_scale, double clip_factor);
    std::int64_t steps() const { return optimizer_->steps(); }

    /// This rank's parts of the whole states ("exp_avg/NAME"; of the parameter's shape, Adafactor's of one number per row
    /// or column). Every rank has to call.
    Result<std::vector<TensorPart>> whole_state() const;
    /// Loads this rank's parts of whole states. After an error the optimizer is unchanged.
    Result<void> load_state(const std::map<std::string_view, torch::Tensor>& whole, std::int64_t steps);

private:
    std::vector<OptimizedPart> parts(const Optimizer& settings) const;
    WeightUpdates weight_updates() const;
    bool states_in_host_memory() const;
    Shard vector_shard(const RankParameter& parameter, StateShape shape) const;
    /// Adds the states of one kind. Each part has states of the same kinds, so states are gathered kind by kind.
    Result<void> add_kind(const std::vector<OptimizerState>& states, std::vector<TensorPart>& parts) const;
    void put_back() const;

    const ModelStages& stages_;
    const RankParameters& parameters_;
    PartSums& sums_;
    std::unique_ptr<ShardedOptimizer> optimizer_;
    HeldShards* shards_ = nullptr;  ///< the optimizer's store; null: parameters stay in memory
};

}  // namespace plimsoll::engine
