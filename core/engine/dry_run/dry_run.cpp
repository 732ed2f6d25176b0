// SPDX-License-Identifier: Apache-2.0
#include "core/engine/dry_run/dry_run.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "core/engine/base/repeated_work.h"
#include "core/engine/dry_run/counting_collectives.h"
#include "core/engine/dry_run/meta_allocator.h"
#include "core/engine/dry_run/meta_kernels.h"
#include "core/engine/dry_run/micro_batches.h"
#include "core/engine/layers/routing_log.h"
#include "core/engine/memory/host_values.h"
#include "core/engine/memory/memory_recorder.h"
#include "core/engine/memory/memory_scope.h"
#include "core/engine/parallel/distributed_model.h"
#include "core/engine/parallel/pipeline_step.h"
#include "core/plan/checks/check_plan.h"
#include "core/plan/gpu.h"
#include "core/plan/plan_io.h"
#include "core/plan/trainable.h"
#include "core/schedule/plan_pipeline/plan_schedule.h"
#include "core/schedule/plan_pipeline/schedule_file.h"

namespace plimsoll::engine {

namespace {

using torch::Tensor;

/// Any factor but 1 scales the gradients, as clipping does.
constexpr double clipped = 0.5;

/// The tokens of one micro-batch, made as BatchSource makes them.
Batch shapes_of_batch(const Plan& plan) {
    const std::int64_t rows = plan.layout.micro_batch, time = plan.data.sequence_length;
    const Tensor windows = at::empty({rows, time + 1}, torch::dtype(torch::kInt64).device(torch::kMeta));
    return {windows.narrow(1, 0, time).contiguous(), windows.narrow(1, 1, time).contiguous(),
            std::vector<std::uint64_t>(static_cast<std::size_t>(rows), 0)};
}

/// Forward and backward, in the same way as TrainLoop.
Result<StepLosses> make_gradients(const Plan& plan, Pipeline& pipeline) {
    const Tensor status = at::empty({step_status_numbers}, torch::dtype(torch::kFloat64).device(torch::kMeta));
    return pipeline.step([&](std::int64_t) { return shapes_of_batch(plan); }, {});
}

Result<void> update(const Plan& plan, DistributedModel& model) {
    begin_memory_phase("optimizer");
    PLIMSOLL_CHECK(model.sizes().norms(1));
    return model.step(plan.optimizer.lr, 1, plan.optimizer.clip > 0 ? clipped : 1);
}

/// Leaves the memory that later steps find. Optimizer states exist from the start, and the gradients of a weight do not
/// depend on the number of micro-batches; so this step has as few as possible, and no update.
Result<void> take_first_step(const Plan& plan, DistributedModel& model) {
    Plan shortest = plan;
    Layout& layout = shortest.layout;
    if (layout.pp == 1 || layout.schedule == Schedule::OneFOneB) {
        layout.accumulation = 1;
    } else if (layout.schedule == Schedule::Interleaved) {
        layout.accumulation = std::min(layout.accumulation, layout.pp);
    }
    if (!layout.schedule_file.empty()) layout.accumulation = plan.layout.accumulation;
    PLIMSOLL_TRY(const auto schedule, plan_schedule(shortest));
    Pipeline pipeline(plan, model, schedule);
    PLIMSOLL_CHECK(make_gradients(plan, pipeline));
    return {};
}

/// cuBLAS takes its workspace from the caching allocator, once for each thread that multiplies: the forward thread and
/// autograd's. Sizes: PyTorch's defaults, CUBLAS_WORKSPACE_CONFIG :4096:8 from Hopper on, :4096:2:16:8 before.
std::vector<Tensor> cublas_workspaces(const Plan& plan, MemoryRecorder& recorder) {
    const auto gpu = find_gpu(plan.cluster.gpu);
    if (plan.cluster.on_cpu() || !gpu) return {};
    const bool hopper = std::atof(gpu->compute_capability.c_str()) >= 9;
    const Bytes bytes = hopper ? 32 * MiB : 8 * MiB + 128 * KiB;
    const MemoryScope scope(MemoryCategory::Buffers);
    memory_label().op = recorder.trace().op("cuBLAS workspace");
    const auto options = torch::dtype(torch::kByte).device(torch::kMeta);
    return {at::empty({bytes}, options), at::empty({bytes}, options)};
}

Result<void> take_steps(const Plan& plan, const DryRunOptions& options, MemoryRecorder& recorder, std::size_t& second) {
    PLIMSOLL_TRY(const auto schedule, plan_schedule(plan));
    const auto world = counting_collectives(options.rank, static_cast<int>(plan.layout.world_size()));
    PLIMSOLL_TRY(const auto mesh, Mesh::make(plan, *world));
    DistributedModel model(plan, *mesh, schedule, torch::kMeta);
    if (auto sent = model.broadcast_parameters(); !sent) return sent;
    if (auto made = model.make_optimizer(plan.optimizer); !made) return made;
    recorder.trace().begin_phase("first step");
    const std::vector<Tensor> workspaces = cublas_workspaces(plan, recorder);
    if (auto taken = take_first_step(plan, model); !taken) return taken;
    Pipeline pipeline(plan, model, schedule);
    second = recorder.trace().events().size();
    begin_memory_phase("zero gradients");
    recorder.watch_ops();
    const RoutingLog routing(options.routing);
    PLIMSOLL_TRY(const StepLosses losses, make_gradients(plan, pipeline));  // held through the update, as in a run
    return update(plan, model);
}

Result<void> check(const Plan& plan, const DryRunOptions& options) {
    if (auto possible = require_possible(plan); !possible) return possible;
    if (auto trainable = require_trainable(plan); !trainable) return trainable;
    const std::int64_t ranks = plan.layout.world_size();
    if (options.rank >= 0 && options.rank < ranks) return {};
    return bad_input("the layout has no rank {}: its {} ranks are 0 to {}", options.rank, ranks, ranks - 1);
}

}  // namespace

Result<DryRunResult> dry_run(const Plan& asked, const DryRunOptions& options) {
    PLIMSOLL_CHECK(check(asked, options));
    install_meta_allocator();
    install_meta_kernels();
    const auto start = std::chrono::steady_clock::now();
    const bool cpu = asked.cluster.on_cpu();
    Plan plan = asked;
    if (!options.all_micro_batches) {
        PLIMSOLL_TRY(auto enough, enough_micro_batches(asked));
        plan.layout.accumulation = enough;
    }
    if (cpu) at::set_num_threads(static_cast<int>(plan.training.threads));
    const LeaveOutRepeats leave_out;
    const StandInScope stand_in(cpu ? torch::kCPU : torch::kCUDA);

    DryRunResult result;
    reset_meta_host_peak();
    {
        MemoryRecorder recorder(torch::kMeta);
        try {
            PLIMSOLL_CHECK(take_steps(plan, options, recorder, result.step_begin));
        } catch (const c10::Error& error) {
            return failed("the dry run cannot go through this step: {}", error.what_without_backtrace());
        } catch (const std::exception& error) {
            return failed("the dry run cannot go through this step: {}", error.what());
        }
        result.trace = std::move(recorder.trace());
    }
    result.rank = options.rank;
    result.on_card = !cpu;
    result.micro_batches = plan.layout.accumulation;
    result.host_peak = meta_host_peak();
    if (!cpu) result.card = replay(result.trace, options.allocator, options.capacity);
    result.timeline = make_timeline(result.trace, result.step_begin, cpu ? nullptr : &result.card);
    result.timeline.plan = asked.name;
    result.timeline.rank = options.rank;
    result.timeline.device = asked.cluster.gpu;
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return result;
}

}  // namespace plimsoll::engine
