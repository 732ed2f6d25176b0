// SPDX-License-Identifier: Apache-2.0
// What to change about a pipeline, with the plan's own numbers.
#pragma once

#include <string>
#include <vector>

#include "core/schedule/plan_pipeline/plan_pipeline.h"

namespace plimsoll {

/// One schedule of the same shape and times beside the others.
struct Alternative {
    Schedule kind = Schedule::OneFOneB;
    bool possible = false;
    std::string reason;  ///< why the schedule is not possible
    double bubble = 0;
    double bubble_per_rank = 0;
    double step = 0;                ///< makespan, in the units of the times
    double peak_micro_batches = 0;  ///< activations of the fullest rank
};

/// The figures of a simulated pipeline, or the reason why there is no pipeline.
Alternative alternative_of(Schedule kind, const Result<Pipeline>& pipeline);

/// Every schedule for the plan's stages, micro-batches and (for the interleaved ones, at least two) chunks.
std::vector<Alternative> alternatives(const Plan& plan);
/// The same with the times of `pipeline` in place of the plan's: a rank keeps its own, whatever the schedule, in equal
/// parts a chunk, and sends take the mean of its links.
std::vector<Alternative> alternatives(const Plan& plan, const Pipeline& pipeline);

/// One sentence on a pipeline's shape.
struct Advice {
    bool good = false;  ///< the shape is good as it is; otherwise what to change
    std::string words;
};

/// Layers per stage (4 to 8 or more keep sends small), number of stages (8 or fewer), micro-batches (4 per stage or
/// more; the bubble with twice as many). With the plan's own times also the imbalance of the stages. Empty without a
/// pipeline.
std::vector<Advice> shape_advice(const Plan& plan, const Pipeline& pipeline);
/// The schedule that would shorten the step most, and its cost in activations; empty when no schedule saves 2 % or
/// more.
std::vector<Advice> schedule_advice(const Pipeline& pipeline, const std::vector<Alternative>& others);

/// Why the simulated bubble differs from the closed form; empty when the two agree to 0.05 % of the step.
std::string why_not_closed_form(const Pipeline& pipeline);

}  // namespace plimsoll
