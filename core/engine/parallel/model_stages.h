// SPDX-License-Identifier: Apache-2.0
// The pipeline stages of a model that one rank of the mesh holds.
#pragma once

#include <memory>
#include <vector>

#include "core/engine/model/decoder.h"
#include "core/schedule/schedule.h"

namespace plimsoll::engine {

/// Owns one module per chunk of the schedule, and the context that the modules share.
class ModelStages {
public:
    /// Makes initial weights from the plan's seed, the same under every layout. Plan and mesh must outlive the object.
    /// Throws when memory runs out.
    ModelStages(const Plan& plan, const Mesh& mesh, const PipelineSchedule& schedule, torch::Device device);
    ModelStages(const ModelStages&) = delete;
    ModelStages& operator=(const ModelStages&) = delete;

    Decoder& operator[](std::size_t chunk) const { return *chunks_[chunk]; }
    std::size_t size() const { return chunks_.size(); }
    const std::vector<std::shared_ptr<Decoder>>& all() const { return chunks_; }
    const Plan& plan() const { return *context_.plan; }
    const Mesh& mesh() const { return *context_.mesh; }
    const ModelContext& context() const { return context_; }
    torch::Device device() const { return device_; }
    /// Whether the head's weight is a copy of another rank's embedding.
    bool tied_over_ranks() const { return tied_over_ranks_; }

private:
    void make_chunk(const PipelineSchedule& schedule, int chunk, std::shared_ptr<Embedding>& embedding);

    ModelContext context_;
    torch::Device device_;
    bool tied_over_ranks_;
    std::vector<std::shared_ptr<Decoder>> chunks_;
};

}  // namespace plimsoll::engine
