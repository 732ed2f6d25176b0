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

/// Owns the parts of the work on a model and makes a step of them: zero_gradients(), prepare_backward() before each
/// backward, finish_backward(), finish_gradients(), what sizes() does to gradients, step().
class DistributedModel {
public:
    /// Makes initial weights from the plan's seed, the same under every layout. The arguments must outlive the model.
    /// Throws when memory runs out.
    DistributedModel(const Plan& plan, const Mesh& mesh, const PipelineSchedule& schedule, torch::Device device);
    DistributedModel(const DistributedModel&) = delete;
    DistributedModel& operator=(const DistributedModel&) = delete;

    /// The stage of the model that is chunk `number` of this rank.
    Decoder& chunk(int number) const { return stages_[static_cast<std::size_t>(number)]; }
    int chunks() const { return static_cast<int>(stages_.size()); }
    const ModelContext& context() const { return stages_.context(); }
    torch::Device device() const { return stages_.device(); }
    void train(bool on);

    const RankParameters& parameters() const { return parameters_; }
    GradientSizes& sizes() { return sizes_; }
    ShardedWeights& weights() { return weights_; }

    /// Sends the weights of rank 0 of each data-parallel group to the group. To be called first: the error also tells
    /// of an offload target without room for the parameters.
    Result<void> broadcast_parameters() { return parameters_.broadcast(); }
    void zero_gradients() { parameters_.zero_gradients(); }
    /// To be called before each backward; `reduce` is true for the last backward of a step. Under ZeRO-2 and 3 every
    /// micro-batch reduces.
    void prepare_backward(bool reduce);
    /// To be called by a pipeline when the last backward of chunk `number` is done.
    void reduce_chunk(int number) { parameters_.reduce_chunk(static_cast<std::size_t>(number)); }
    Result<void> finish_backward() { return parameters_.finish_backward(); }
    /// To be called once a step after the last backward: sums over other ranks than data-parallel ones.
    Result<void> finish_gradients() { return sums_.finish(); }

    /// To be called when the weights are final: masters are copied from them.
    Result<void> make_optimizer(const Optimizer& settings);
    /// Updates this rank's parts, then gathers the parts of all ranks on every rank.
    Result<void> step(double lr, double inv_scale, double clip_factor);
    std::int64_t optimizer_steps() const { return optimizer_.steps(); }
    /// The optimizer's states as whole tensors ("exp_avg/NAME"). Rank 0 of the mesh gets the tensors, other ranks get
    /// none. Every rank has to call.
    Result<NamedTensors> whole_optimizer_state();
    /// Error when a state of this rank is missing or has another shape.
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
