// SPDX-License-Identifier: Apache-2.0
// The pipeline of a run as it happened: the time of each operation of a step, from the ranks' records.
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

/// Reads the "pipeline" events of one rank of each pipeline stage, from the first tensor-, context- and data-parallel
/// column. The last steps are kept.
class PipelineRecords {
public:
    /// `plan` is the run's plan; without a pipeline nothing is read.
    PipelineRecords(const RunFolder& run, const Plan& plan);

    /// Reads new records; true when there were any. A rank's missing file counts as empty. Error for a file that is no
    /// record of a run.
    Result<bool> poll();
    /// The last step that every stage recorded.
    std::optional<std::uint64_t> last_step() const;
    /// The time of each operation, in seconds from the first one's start. An operation begins at the earliest when the
    /// operation that gives its input has ended (by the ranks' clocks); the transfer of the input is part of it. Error
    /// when some rank did not record the step, or recorded other operations than the schedule's.
    Result<Timeline> timeline(const PipelineSchedule& schedule, std::uint64_t step) const;

private:
    struct Stage {
        TelemetryReader reader;
        std::map<std::uint64_t, Json> steps;
    };
    std::vector<Stage> stages_;
};

/// The mean time of the operations, stage by stage; sends cost nothing. A simulation with these times shows the
/// schedule as it would run if each rank waited for its inputs only.
StageTimes mean_times(const PipelineSchedule& schedule, const Timeline& timeline);

}  // namespace plimsoll
