// SPDX-License-Identifier: Apache-2.0
// The pipeline of a plan, laid out and simulated: what the studio and `plimsoll pipeline` show.
#pragma once

#include <optional>
#include <string>

#include "core/schedule/closed_form.h"
#include "core/schedule/simulate.h"

namespace plimsoll {

struct Pipeline {
    Schedule kind = Schedule::OneFOneB;
    PipelineSchedule schedule;
    StageTimes times;  ///< relative: the layers of an average rank take 1 forward
    Timeline timeline;
    std::optional<ClosedForm> closed_form;  ///< for the mean stage; nothing for ZB-1p, ZB-2p and a list from a file
    std::string file;                       ///< where the list comes from; empty: made for `kind`
};

/// The schedule's name, or that of the file.
std::string pipeline_title(const Pipeline& pipeline);

/// Error where plan_schedule or the times are refused. Without `times`: relative_stage_times(plan). One rank
/// accumulates gradients, whatever the plan's schedule.
Result<Pipeline> simulate_pipeline(const Plan& plan);
Result<Pipeline> simulate_pipeline(const Plan& plan, StageTimes times);
Result<Pipeline> simulate_pipeline(Schedule kind, const ScheduleShape& shape, StageTimes times);

}  // namespace plimsoll
