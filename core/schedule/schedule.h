// SPDX-License-Identifier: Apache-2.0
// Pipeline schedules as data: which stage does which micro-batch's forward or backward, in what order.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/result.h"
#include "core/base/units.h"
#include "core/plan/plan.h"

namespace plimsoll {

enum class OpKind { Forward, Backward };

struct PipelineOp {
    OpKind kind = OpKind::Forward;
    int micro_batch = 0;
    int chunk = 0;  ///< model chunk of the rank; 0 unless the schedule is interleaved
    bool operator==(const PipelineOp&) const = default;
};

/// ops[rank] is what that rank executes, in order.
struct PipelineSchedule {
    int stages = 1;
    int micro_batches = 1;
    std::vector<std::vector<PipelineOp>> ops;
};

/// Most operations (2 x stages x micro-batches) that a schedule may have: lists beyond it would fill memory.
inline constexpr std::int64_t max_schedule_ops = 1 << 24;

/// GPipe: all forwards, then all backwards (Huang 2019). 1F1B: PipeDream-flush (Narayanan 2021).
/// Error below one stage or micro-batch and above max_schedule_ops.
Result<PipelineSchedule> make_schedule(Schedule kind, int stages, int micro_batches);

/// Micro-batches whose activations are alive at once on `stage`: m for GPipe, min(m, p - stage) for 1F1B (Narayanan
/// 2021). One when there is a single stage: gradient accumulation runs each backward right after its forward.
std::int64_t peak_in_flight(Schedule kind, std::int64_t stages, std::int64_t stage, std::int64_t micro_batches);

struct StageTimes {
    std::vector<Seconds> forward;  ///< one per stage
    std::vector<Seconds> backward;
    Seconds send = 0;  ///< between neighbouring stages
    static StageTimes uniform(int stages, Seconds forward, Seconds backward, Seconds send = 0);
};

struct TimedOp {
    PipelineOp op;
    int stage = 0;
    Seconds start = 0;
    Seconds end = 0;
};

struct Timeline {
    std::vector<std::vector<TimedOp>> stages;
    Seconds makespan = 0;
    double bubble = 0;                ///< idle share of stages x makespan
    std::vector<Seconds> idle;        ///< per stage
    std::vector<int> peak_in_flight;  ///< micro-batches alive on each stage at its peak
};

/// Runs the lists against their dependencies (forward needs the previous stage's forward, backward the next stage's
/// backward and its own forward); a send does not keep its stage busy. With interleaving the model is a chain of
/// chunks x stages links (chunk c of stage s is link c x stages + s) and an op takes the stage's time / chunks. A list
/// that can never finish (deadlock, missing or repeated op) is an error that names the stage and the op it hangs at.
Result<Timeline> simulate(const PipelineSchedule& schedule, const StageTimes& times);

/// (p - 1) / (m + p - 1): GPipe and 1F1B with equal stages and no communication.
double closed_form_bubble(int stages, int micro_batches);

/// Relative forward and backward times of the plan's stages, from each stage's FLOPs: 2 a parameter and token in every
/// matrix product (the embedding is a look-up and costs none, the head is on the last stage), 4 x s x heads x head size
/// a token for attention scores (half of it where flash attention skips the masked half). Backward is twice the forward
/// plus what is recomputed (selective: the scores; full: every layer). Scaled so that the layers of the middle stage
/// take 1 forward; send is 0.
StageTimes relative_stage_times(const Plan& plan);

/// Layers on each stage: as equal as possible, the first `num_layers % pp` stages hold one more. T5's encoder layers
/// come first, its decoder layers after them.
std::vector<std::int64_t> layers_per_stage(const Plan& plan);

}  // namespace plimsoll
