// SPDX-License-Identifier: Apache-2.0
// Runs the micro-batches of a step: a rank's list of operations of a pipeline schedule, with its messages.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <vector>

#include "core/engine/data/batch.h"
#include "core/engine/parallel/distributed_model.h"
#include "core/schedule/transfers.h"

namespace plimsoll::engine {

/// One operation as it happened, in seconds since the Unix epoch.
struct OpTime {
    PipelineOp op;
    double start = 0, end = 0;
};

/// Sums of losses over the micro-batches of a step, on this rank.
struct StepLosses {
    torch::Tensor loss;  ///< the model's own loss: one fp64 number on the device; undefined on a rank without the head
    double router = 0;   ///< router losses of this rank's layers, weighted; the ranks of a tensor-parallel group add up
    double z = 0;        ///< the z-loss; 0 on a rank without the head
};

struct StepSettings {
    double loss_scale = 1;
    /// Called before the last backward of the step begins, with all losses of the step. Not called when there are other
    /// pipeline ranks.
    std::function<void(const StepLosses&)> before_last_backward;
};

/// Numbers that the ranks exchange in a step: the mean loss of the global batch, the number of ranks that were asked to
/// stop, router loss, z-loss, the seconds that all ranks together have spent on the step so far.
inline constexpr std::int64_t step_status_numbers = 5;

class Pipeline {
public:
    /// The arguments must outlive the pipeline.
    Pipeline(const Plan& plan, DistributedModel& model, const PipelineSchedule& schedule);

    /// Forward and backward of all micro-batches; gradients are averaged over ranks afterwards. `batch(k)` is
    /// micro-batch k of this data-parallel rank, whole sequences.
    Result<StepLosses> step(const std::function<Batch(std::int64_t)>& batch, const StepSettings& settings);
    const std::vector<OpTime>& times() const { return times_; }

    /// The next two run through all stages without gradients. Every rank of the model has to make the same calls. Mean
    /// loss of the batch on each rank of the pipeline.
    Result<double> loss(const Batch& batch);
    /// tokens [1, time] -> logits [vocab] after the last token, on every rank of the model, on the CPU.
    Result<torch::Tensor> next_logits(const torch::Tensor& tokens);

private:
    struct Alive {
        torch::Tensor input, output;
    };
    /// A tensor on its way, to this rank or from it.
    struct Travelling {
        std::shared_ptr<Work> work;
        torch::Tensor tensor;
    };

    /// A forward adds its losses to `losses`.
    void execute(std::size_t place, const std::function<Batch(std::int64_t)>& batch, const StepSettings& settings,
                 StepLosses& losses);
    torch::Tensor forward(Decoder& decoder, const torch::Tensor& input, const Batch& batch,
                          const StepSettings& settings, StepLosses& losses) const;
    void backward(std::size_t place, const StepSettings& settings, const StepLosses& losses);
    /// Gradient of the mean loss of one micro-batch.
    double share(const StepSettings& settings) const;
    void post_receives(const PipelineStep& step);
    torch::Tensor received(const PipelineStep& step);
    void send(const PipelineStep& step, const torch::Tensor& tensor);
    torch::Tensor boundary(std::int64_t batch, std::int64_t time) const;
    Batch cut(const Batch& batch) const;
    torch::Tensor through_stages(const Batch& batch, const std::function<torch::Tensor(Decoder&, torch::Tensor)>& head);

    const Plan& plan_;
    DistributedModel& model_;
    const PipelineSchedule& schedule_;
    Collectives& ranks_;
    const MessageLinks& links_;
    int rank_;
    std::vector<PipelineStep> steps_;
    std::map<std::pair<int, int>, Alive> alive_;                ///< by (stage, micro-batch)
    std::map<std::pair<int, int>, torch::Tensor> handed_over_;  ///< between chunks of this rank: output, or gradient
    std::map<int, Travelling> incoming_, outgoing_;             ///< by tag
    std::vector<OpTime> times_;
    std::size_t last_backward_ = 0;
    std::vector<std::size_t>
        last_gradients_;  ///< by chunk: the place of the operation behind which its gradients are whole
};

}  // namespace plimsoll::engine
