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
    /// Makes initial weights from the plan's seed, the same under every layout. The arguments must outlive the model.
    /// Throws when memory runs out.
    DistributedModel(const Plan& plan, const Mesh& mesh, const PipelineSchedule& schedule, torch::Device device);
    ~DistributedModel();
    DistributedModel(const DistributedModel&) = delete;
    DistributedModel& operator=(const DistributedModel&) = delete;

    /// The stage of the model that is chunk `number` of this rank.
    Decoder& chunk(int number) const { return *chunks_[static_cast<std::size_t>(number)]; }
    int chunks() const { return static_cast<int>(chunks_.size()); }
    const ModelContext& context() const { return context_; }
    torch::Device device() const { return device_; }
    void train(bool on);
    std::size_t bucket_count() const;

    /// Sends the weights of rank 0 of each data-parallel group to the group. To be called first: the error also tells
    /// of an offload target without room for the parameters.
    Result<void> broadcast_parameters();
    void zero_gradients();
    /// To be called before each backward; `reduce` is true for the last backward of a step. Under ZeRO-2 and 3 every
    /// micro-batch reduces.
    void prepare_backward(bool reduce);
    /// To be called by a pipeline when the last backward of chunk `number` is done.
    void reduce_chunk(int number);
    std::size_t overlapped_buckets() const;
    Result<void> finish_backward();
    /// Once a step after the last backward: the sums over other ranks than data-parallel ones (norms under sequence
    /// parallelism, shared key-value heads, a tied head on another stage).
    Result<void> finish_gradients();
    /// Norms over the whole model, the same on every rank.
    Result<GradientNorms> norms(double inv_scale) const;
    /// Under optimizer.clip_rule adagc: clips each gradient of this step in place. Does nothing under other rules.
    /// `global_norm` must be finite; `inv_scale` is the factor that step() multiplies gradients with.
    Result<void> clip_by_tensor(double inv_scale, double global_norm);
    /// Turns the measurement for the noise scale on before a step and off after it.
    void measure_noise(bool on);
    /// Squared gradient norms of a part of the step's batch and of the whole batch (sizes in tokens), over all matrices
    /// but the experts'. The same on every rank.
    Result<std::pair<NormSample, NormSample>> noise_samples(double inv_scale) const;

    /// To be called when the weights are final: masters are copied from them.
    Result<void> make_optimizer(const Optimizer& settings);
    /// Updates this rank's parts, then gathers the parts of all ranks on every rank.
    Result<void> step(double lr, double inv_scale, double clip_factor);
    /// This rank's ranges of parameters and their gradients.
    struct Run {
        std::string name;
        torch::Tensor parameter, gradient;
    };
    std::vector<Run> runs() const;
    std::int64_t optimizer_steps() const { return optimizer_->steps(); }

    /// Whole tensors under Hugging Face's names and shapes: the weights, or the optimizer's states as "exp_avg/NAME".
    /// Rank 0 of the mesh gets the tensors, other ranks get none. Every rank has to call.
    Result<NamedTensors> whole_weights();
    Result<NamedTensors> whole_gradients();
    Result<NamedTensors> whole_optimizer_state();
    /// Loads this rank's parts of whole tensors. Names that belong to other ranks are skipped. Error when a tensor of
    /// this rank is missing or has another shape or dtype; the model is unchanged then.
    Result<void> load_weights(const NamedTensors& whole, const std::string& what);
    /// The same for the frozen weights beside adapters, which the calls above leave out.
    Result<void> load_frozen(const NamedTensors& whole, const std::string& what);
    Result<void> load_optimizer_state(const NamedTensors& whole, std::int64_t steps);

private:
    bool states_in_host_memory() const;
    /// Where each part waits while it is not in use; empty when all parts stay in memory.
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
    /// A parameter that does not train: each data-parallel rank holds the whole of it.
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
    /// Whether this rank counts a parameter that several ranks hold: exactly one of them does.
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
    std::unique_ptr<HeldShards> held_shards_;  ///< null: parameters stay in memory
    HeldShards* optimizer_shards_ = nullptr;   ///< the optimizer's, with its states; null likewise
    std::unique_ptr<ShardedOptimizer> optimizer_;
    Result<void> parameters_placed_;
};

}  // namespace plimsoll::engine
