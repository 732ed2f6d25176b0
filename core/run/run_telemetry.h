// SPDX-License-Identifier: Apache-2.0
// Tails every record file of a run into one SeriesStore.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/run/run_folder.h"
#include "core/telemetry/reader.h"
#include "core/telemetry/series_store.h"

namespace plimsoll {

class RunTelemetry {
public:
    explicit RunTelemetry(RunFolder run) : run_(std::move(run)) {}

    /// Reads new records in telemetry/*.rec, at most about `limit` bytes a file; true when there were any.
    bool poll(Bytes limit = 16 * MiB);
    bool at_end() const;

    const RunFolder& run() const { return run_; }
    const SeriesStore& series() const { return store_; }
    /// A sentence for each file that could not be read.
    std::vector<std::string> problems() const;

private:
    RunFolder run_;
    std::map<int, TelemetryReader> readers_;  ///< by rank; -1: the supervisor
    std::map<int, std::string> problems_;
    SeriesStore store_;
};

}  // namespace plimsoll
