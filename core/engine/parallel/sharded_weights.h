// SPDX-License-Identifier: Apache-2.0
// Whole weights from the parts of all ranks, and back.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/engine/optimizer/offloaded_parameters.h"
#include "core/engine/parallel/model_stages.h"
#include "core/engine/parallel/rank_parameters.h"
#include "core/engine/ranks/gathered_tensors.h"

namespace plimsoll::engine {

/// Tensors have Hugging Face's names and shapes. What it is given outlives it.
class ShardedWeights {
public:
    ShardedWeights(const ModelStages& stages, RankParameters& parameters);

    /// On rank 0 of the mesh, elsewhere nothing. Every rank calls it.
    Result<NamedTensors> whole() const { return gathered(parameters_.tensors()); }
    /// Likewise the gradients.
    Result<NamedTensors> whole_gradients() const { return gathered(parameters_.gradients()); }

    /// This rank's parts of whole tensors. Names that belong to other ranks are passed over; error where one of this
    /// rank is missing or has another shape or dtype, and then nothing has changed. `what`: their file.
    Result<void> load(const NamedTensors& whole, const std::string& what);
    /// Likewise of the weights that stay as they are beside adapters, which the calls above leave out.
    Result<void> load_frozen(const NamedTensors& whole, const std::string& what);

private:
    Result<NamedTensors> gathered(const std::vector<torch::Tensor>& ranges) const;

    const ModelStages& stages_;
    RankParameters& parameters_;
    std::unique_ptr<HeldShards> held_;  ///< null: parameters stay in memory
};

}  // namespace plimsoll::engine
