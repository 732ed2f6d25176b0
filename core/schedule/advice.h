// SPDX-License-Identifier: Apache-2.0
// What to change about a pipeline, with the plan's own numbers.
#pragma once

#include <string>
#include <vector>

#include "core/schedule/pipeline.h"

namespace plimsoll {

/// One schedule of the same shape and times beside the others.
struct Alternative {
    Schedule kind = Schedule::OneFOneB;
    bool possible = false;
    std::string reason;  ///< why it is not
    double bubble = 0;
    double bubble_per_rank = 0;
    double step = 0;                ///< makespan, in the units of the times
    double peak_micro_batches = 0;  ///< activations of the fullest rank
};

/// What a simulated pipeline comes to, or the reason why there is none.
Alternative alternative_of(Schedule kind, const Result<Pipeline>& pipeline);

/// Every schedule for the plan's stages, micro-batches and (for the interleaved ones, at least two) chunks.
std::vector<Alternative> alternatives(const Plan& plan);
/// The same with the times of `pipeline` in place of the plan's: a rank keeps its own, whatever the schedule, in equal
/// parts a chunk, and sends take the mean of its links.
std::vector<Alternative> alternatives(const Plan& plan, const Pipeline& pipeline);

/// Sentences: layers a stage (4 to 8 or more keep sends small), number of stages (8 or fewer), micro-batches (many more
/// than stages; the bubble with twice as many), imbalance of the stages, and the schedule that would save most with
/// what it costs in activations. The other pipelines that it speaks of have the plan's own times. Empty without a
/// pipeline.
std::vector<std::string> pipeline_advice(const Plan& plan, const Pipeline& pipeline,
                                         const std::vector<Alternative>& others);

/// Why the simulated bubble is not the closed form's, or empty where they agree to 0.05 % of the step.
std::string why_not_closed_form(const Pipeline& pipeline);

}  // namespace plimsoll
