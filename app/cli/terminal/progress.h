// SPDX-License-Identifier: Apache-2.0
// A training run's progress in a terminal: one live line, or a line now and then where there is no terminal.
#pragma once

#include <chrono>
#include <string>

#include "core/run/processes/supervisor.h"
#include "core/run/run_telemetry.h"
#include "core/run/stop_wait.h"

namespace plimsoll::cli {

class Progress {
public:
    Progress(const RunFolder& run, const Plan& plan);

    /// Reads new records and shows them; cheap, to be called often. While the run stops, because of `wish` or because
    /// somebody else asked for it, the line tells what is waited for.
    void update(StopWish wish);
    /// Shows the last records, whatever the clock says.
    void finish();

    /// "step 120 of 300 · loss 2.314 · 84.1 k tokens/s · 1 min 3 s left"
    std::string line() const;
    std::uint64_t step() const;
    const SeriesStore& series() const { return telemetry_.series(); }

private:
    void show_events();
    void show_stop(StopWish wish);
    void show_line(const std::string& text);
    void say_line(const std::string& text);
    StopWait wait() const;

    RunTelemetry telemetry_;
    std::int64_t steps_ = 0;
    bool terminal_ = false;
    bool line_open_ = false;
    double since_ = 0;  ///< earlier events are history
    std::chrono::steady_clock::time_point last_look_{};
    std::chrono::steady_clock::time_point last_line_{};
    std::uint64_t shown_step_ = 0;
    std::size_t events_shown_ = 0;
    StopWish wish_ = StopWish::None;  ///< said so far
    bool stop_told_ = false;          ///< by an event
};

}  // namespace plimsoll::cli
