// SPDX-License-Identifier: Apache-2.0
// The model of a run as its checkpoints see it.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/result.h"
#include "core/engine/ranks/gathered_tensors.h"

namespace plimsoll::engine {

/// What training has made of a model: whole tensors in Hugging Face's names and shapes, on rank 0 (elsewhere none).
struct TrainedState {
    std::int64_t optimizer_steps = 0;
    NamedTensors weights;
    NamedTensors optimizer;  ///< "exp_avg/NAME" and so on
};

/// Every rank makes the same calls in the same order.
class TrainedModel {
public:
    virtual ~TrainedModel() = default;
    virtual Result<TrainedState> state() = 0;
    /// Every rank has read all of it and takes its own parts; the optimizer is made anew. `weights_file` stands in
    /// messages.
    virtual Result<void> load(const TrainedState& state, const std::string& weights_file) = 0;
};

}  // namespace plimsoll::engine
