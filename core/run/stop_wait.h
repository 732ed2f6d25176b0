// SPDX-License-Identifier: Apache-2.0
// What a run that was asked to stop still waits for: its step, then the checkpoint.
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/units.h"
#include "core/telemetry/contract/run_layout.h"
#include "core/telemetry/series_store.h"

namespace plimsoll {

/// A checkpoint that is being written.
struct SaveUnderWay {
    std::int64_t step = 0;
    Bytes written = 0;  ///< so far
};
/// Nothing where no checkpoint is being written. What a crash before `since` (seconds since the epoch) has left behind
/// is none.
std::optional<SaveUnderWay> save_under_way(const RunLayout& run, double since);

struct StopWait {
    std::int64_t step = 0;              ///< that is being taken, or saved
    Seconds elapsed = 0;                ///< since the step began
    std::optional<Seconds> step_takes;  ///< as the steps before it; nothing before the first one
    std::optional<SaveUnderWay> save;   ///< the step is done
    std::optional<Bytes> save_takes;    ///< as the checkpoint before it

    /// Of the step, 0 where it takes longer than those before it; nothing before the first step.
    std::optional<Seconds> left() const;
};

/// From what the ranks have recorded so far. `started` (of the supervisor) and `now` in seconds since the epoch.
StopWait stop_wait(const SeriesStore& records, const std::optional<SaveUnderWay>& save, double started, double now);

}  // namespace plimsoll
