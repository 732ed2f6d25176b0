// SPDX-License-Identifier: Apache-2.0
// Whole weights, assembled from the parts of all ranks, and the reverse.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/engine/optimizer/offloaded_parameters.h"
#include "core/engine/parallel/model_stages.h"
#include "core/engine/parallel/rank_parameters.h"
#include "core/engine/ranks/gathered_tensors.h"

namespace plimsoll::engine {

/// Whole tensors have Hugging Face's names and shapes. The arguments must outlive the object.
class ShardedWeights {
public:
    ShardedWeights(const ModelStages& stages, RankParameters& parameters);

    /// Rank 0 of the mesh gets the tensors, other ranks get none. Every rank has to call.
    Result<NamedTensors> whole() const { return gathered(parameters_.tensors()); }
    /// The same for the gradients.
    Result<NamedTensors> whole_gradients() const { return gathered(parameters_.gradients()); }

    /// Loads this rank's parts of whole tensors. Names that belong to other ranks are skipped. Error when a tensor of
    /// this rank is missing or has another shape or dtype; the model is unchanged then. `what` names the file in errors.
    Result<void> load(const NamedTensors& whole, const std::string& what);
    /// The same for the frozen weights beside adapters, which the calls above leave out.
    Result<void> load_frozen(const NamedTensors& whole, const std::string& what);

private:
    Result<NamedTensors> gathered(const std::vector<torch::Tensor>& ranges) const;

    const ModelStages& stages_;
    RankParameters& parameters_;
    std::unique_ptr<HeldShards> held_;  ///< null: parameters stay in memory
};

}  // namespace plimsoll::engine
