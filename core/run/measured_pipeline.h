// SPDX-License-Identifier: Apache-2.0
// The pipeline of a run as it happened: when each operation of a step ran, from what the ranks recorded.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "core/base/json.h"
#include "core/run/run_folder.h"
#include "core/schedule/plan_pipeline/plan_pipeline.h"
#include "core/telemetry/reader.h"

namespace plimsoll {

/// Reads the "pipeline" events of one rank of each pipeline stage: those of the first tensor-, context- and
/// data-parallel column. The last steps are kept.
class PipelineRecords {
public:
    /// `plan` is the run's; without a pipeline nothing is read.
    PipelineRecords(const RunFolder& run, const Plan& plan);

    /// Reads what is new; true when there was something. A rank's file that is not there yet is none. Error for a file
    /// that is no record of a run.
    Result<bool> poll();
    /// The last step that every stage recorded.
    std::optional<std::uint64_t> last_step() const;
    /// When each operation ran, in seconds from the first one's start. What an operation waited for until the one that
    /// gives its input had ended is left out (by the ranks' clocks); the way of its input is in it. Error when the step
    /// was not recorded by all, or with other operations than the schedule's.
    Result<Timeline> timeline(const PipelineSchedule& schedule, std::uint64_t step) const;

private:
    struct Stage {
        TelemetryReader reader;
        std::map<std::uint64_t, Json> steps;
    };
    std::vector<Stage> stages_;
};

/// What the operations took on average, stage by stage; sends cost nothing. With it the schedule is simulated as it
/// would run if no rank waited for anything but its input.
StageTimes mean_times(const PipelineSchedule& schedule, const Timeline& timeline);

}  // namespace plimsoll
