// SPDX-License-Identifier: GPL-3.0-or-later
// Lines of progress of a run in the terminal, read from what rank 0 records.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>

#include "core/telemetry/reader.h"
#include "core/telemetry/series_store.h"

namespace plimsoll::studio {

class Progress {
public:
    Progress(const std::filesystem::path& telemetry, std::int64_t steps);

    /// Prints what is new; at most a line of figures a second, events as they come.
    void print();
    /// The last figures, whenever the last line was.
    void finish();

private:
    void read();
    void print_figures();

    TelemetryReader reader_;
    SeriesStore store_;
    std::int64_t steps_;
    std::size_t events_ = 0;
    std::uint64_t printed_step_ = 0;
    std::chrono::steady_clock::time_point printed_{};
};

}  // namespace plimsoll::studio
