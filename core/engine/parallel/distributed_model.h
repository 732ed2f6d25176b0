// SPDX-License-Identifier: Apache-2.0
// The part of a model that one rank of the mesh holds: its pipeline stages, the sums over ranks that its gradients
// need, and what its optimizer updates.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/control/adagc.h"
#include "core/control/batch_rules.h"
#include "core/engine/model/decoder.h"
#include "core/engine/optimizer/offloaded_parameters.h"
#include "core/engine/optimizer/optimizer.h"
#include "core/engine/parallel/data_parallel.h"
#include "core/engine/parallel/gradient_norms.h"
#include "core/engine/parallel/zero_gate.h"
#include "core/engine/ranks/gathered_tensors.h"
#include "core/schedule/schedule.h"

namespace plimsoll::engine {

class DistributedModel {
public:
    /// Initial weights by the plan's seed, the same under every layout. What it is given has to outlive it. Throws
    /// where memory runs out.
    DistributedModel(const Plan& plan, const Mesh& mesh, const PipelineSchedule& schedule, torch::Device device);
    ~DistributedModel();
    DistributedModel(const DistributedModel&) = delete;
    DistributedModel& operator=(const DistributedModel&) = delete;

    /// The stage of the model that this rank holds as its chunk of that number.
    Decoder& chunk(int number) const { return *chunks_[static_cast<std::size_t>(number)]; }
    int chunks() const { return static_cast<int>(chunks_.size()); }
    const ModelContext& context() const { return context_; }
    torch::Device device() const { return device_; }
    void train(bool on);
    std::size_t bucket_count() const;

    /// Rank 0 of each data-parallel group's weights to the others. Before all else: it also says if there was no place
    /// to put offloaded parameters.
    Result<void> broadcast_parameters();
    void zero_gradients();
    /// Around each backward (ZeRO-2 and 3: and so around each micro-batch); `reduce` at the last one of a step.
    void prepare_backward(bool reduce);
    /// Of a pipeline: a chunk's last backward is done.
    void reduce_chunk(int number);
    std::size_t overlapped_buckets() const;
    Result<void> finish_backward();
    /// Once a step after the last backward: the sums over other ranks than data-parallel ones (norms under sequence
    /// parallelism, shared key-value heads, a tied head on another stage).
    Result<void> finish_gradients();
    /// Over the whole model, on every rank the same.
    Result<GradientNorms> norms(double inv_scale) const;
    /// Under optimizer.clip_rule adagc: clips each gradient of this step in place; nothing otherwise. `global_norm` is
    /// finite. As inv_scale, what the gradients are divided by in step().
    Result<void> clip_by_tensor(double inv_scale, double global_norm);
    /// Around a step whose gradients are measured for the noise scale.
    void measure_noise(bool on);
    /// The squared gradient norm of a part of the step's batch and of all of it, batches in tokens, of all matrices but
    /// the experts'; on every rank the same.
    Result<std::pair<NormSample, NormSample>> noise_samples(double inv_scale) const;

    /// Made when the weights are final.
    Result<void> make_optimizer(const Optimizer& settings);
    /// One update of this rank's parts, then everyone's to everyone.
    Result<void> step(double lr, double inv_scale, double clip_factor);
    /// This rank's runs of parameters and their gradients.
    struct Run {
        std::string name;
        torch::Tensor parameter, gradient;
    };
    std::vector<Run> runs() const;
    std::int64_t optimizer_steps() const { return optimizer_->steps(); }

    /// Whole tensors in Hugging Face's names and shapes, on rank 0 of the mesh (elsewhere nothing): the weights, or the
    /// optimizer's state as "exp_avg/NAME". Every rank calls it.
    Result<NamedTensors> whole_weights();
    Result<NamedTensors> whole_gradients();
    Result<NamedTensors> whole_optimizer_state();
    /// This rank's parts of whole tensors. Names that belong to other ranks are passed over; error where one of this
    /// rank is missing or has another shape or dtype, and then nothing has changed.
    Result<void> load_weights(const NamedTensors& whole, const std::string& what);
    /// Likewise of the weights that stay as they are beside adapters, which the calls above leave out.
    Result<void> load_frozen(const NamedTensors& whole, const std::string& what);
    Result<void> load_optimizer_state(const NamedTensors& whole, std::int64_t steps);

private:
    bool states_in_host_memory() const;
    /// Where each part waits while it is not used; empty where all of them stay.
    std::vector<HeldShards::Place> places_of_parameters() const;
    /// A parameter of this rank, once.
    struct Parameter {
        std::string name;  ///< Hugging Face's; of a copy that of the original
        Shard shard;
        bool expert = false;
        bool copy = false;
        DataParallel* parallel = nullptr;
        OwnedPart part;
    };
    /// One that does not train: each data-parallel rank has all of it.
    struct Frozen {
        std::string name;
        Shard shard;
        torch::Tensor tensor;
    };
    class Sums;
    static constexpr const char* tensor_clip_prefix = "adagc/";

    void make_tensor_clip(const Optimizer& settings);
    void add_tensor_clip(std::vector<TensorPart>& parts) const;
    Result<void> load_tensor_clip(const std::map<std::string_view, torch::Tensor>& by_name, std::int64_t updates);
    bool counts_for_noise(const Parameter& parameter) const;
    void measure_first_micro_batch();
    void make_chunks(const PipelineSchedule& schedule);
    void make_parallel();
    Collectives& data_group(bool expert) const { return expert ? context_.mesh->expert_data() : context_.mesh->data(); }
    Result<void> sum_gradients(const std::vector<std::size_t>& parameters, Collectives& ranks);
    /// Whether this rank is the one that speaks for a parameter that several hold.
    bool speaks_for(const Parameter& parameter, bool of_data_group) const;
    Result<NamedTensors> whole(const std::vector<torch::Tensor>& runs);
    Result<std::vector<torch::Tensor>> slices(const std::vector<torch::Tensor>& runs) const;
    Shard vector_shard(const Parameter& parameter, StateShape shape) const;
    torch::Tensor own_run(const Parameter& parameter, const torch::Tensor& whole) const;

    const Plan& plan_;
    ModelContext context_;
    torch::Device device_;
    bool tied_over_ranks_ = false;  ///< the head's weight is a copy of another rank's embedding
    std::vector<std::shared_ptr<Decoder>> chunks_;
    std::vector<std::unique_ptr<ZeroGate>> gates_;
    std::unique_ptr<DataParallel> dense_, experts_;
    std::vector<Parameter> parameters_;
    std::vector<Frozen> frozen_;
    std::unique_ptr<PartSums> sums_;
    std::optional<AdaGc> tensor_clip_;  ///< by parameter
    bool measures_noise_ = false;
    std::int64_t backwards_ = 0;               ///< of the step that is measured
    std::unique_ptr<HeldShards> held_shards_;  ///< null: parameters stay
    HeldShards* optimizer_shards_ = nullptr;   ///< the optimizer's, with its states; null likewise
    std::unique_ptr<ShardedOptimizer> optimizer_;
    Result<void> parameters_placed_;
};

}  // namespace plimsoll::engine
