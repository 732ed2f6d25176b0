// SPDX-License-Identifier: Apache-2.0
// The part of a model that one rank of the mesh holds, and one step of its training.
#pragma once

#include "core/engine/parallel/gradient_sizes.h"
#include "core/engine/parallel/gradient_sums.h"
#include "core/engine/parallel/model_optimizer.h"
#include "core/engine/parallel/model_stages.h"
#include "core/engine/parallel/rank_parameters.h"
#include "core/engine/parallel/sharded_weights.h"

namespace plimsoll::engine {

/// Owns the parts of the work on a model, and calls them in the order of a step: zero_gradients(), then around each
/// backward prepare_backward() and finish_backward(), then finish_gradients(), sizes(), step().
class DistributedModel {
public:
    /// Initial weights by the plan's seed, the same under every layout. What it is given has to outlive it. Throws
    /// where memory runs out.
    DistributedModel(const Plan& plan, const Mesh& mesh, const PipelineSchedule& schedule, torch::Device device);
    DistributedModel(const DistributedModel&) = delete;
    DistributedModel& operator=(const DistributedModel&) = delete;

    /// The stage of the model that this rank holds as its chunk of that number.
    Decoder& chunk(int number) const { return stages_[static_cast<std::size_t>(number)]; }
    int chunks() const { return static_cast<int>(stages_.size()); }
    const ModelContext& context() const { return stages_.context(); }
    torch::Device device() const { return stages_.device(); }
    void train(bool on);

    const RankParameters& parameters() const { return parameters_; }
    GradientSizes& sizes() { return sizes_; }
    ShardedWeights& weights() { return weights_; }

    /// Rank 0 of each data-parallel group's weights to the others. Before all else: it also says if there was no place
    /// to put offloaded parameters.
    Result<void> broadcast_parameters() { return parameters_.broadcast(); }
    void zero_gradients() { parameters_.zero_gradients(); }
    /// Around each backward (ZeRO-2 and 3: and so around each micro-batch); `reduce` at the last one of a step.
    void prepare_backward(bool reduce);
    /// Of a pipeline: a chunk's last backward is done.
    void reduce_chunk(int number) { parameters_.reduce_chunk(static_cast<std::size_t>(number)); }
    Result<void> finish_backward() { return parameters_.finish_backward(); }
    /// Once a step after the last backward: the sums over other ranks than data-parallel ones.
    Result<void> finish_gradients() { return sums_.finish(); }

    /// When the weights are final.
    Result<void> make_optimizer(const Optimizer& settings);
    /// One update of this rank's parts, then everyone's to everyone.
    Result<void> step(double lr, double inv_scale, double clip_factor);
    std::int64_t optimizer_steps() const { return optimizer_.steps(); }
    /// The optimizer's state in whole tensors ("exp_avg/NAME"), on rank 0 of the mesh (elsewhere nothing). Every rank
    /// calls it.
    Result<NamedTensors> whole_optimizer_state();
    /// Error where one that this rank needs is missing or has another shape.
    Result<void> load_optimizer_state(const NamedTensors& whole, std::int64_t steps);

private:
    ModelStages stages_;
    RankParameters parameters_;
    GradientSums sums_;
    GradientSizes sizes_;
    ShardedWeights weights_;
    ModelOptimizer optimizer_;
};

}  // namespace plimsoll::engine
