// SPDX-License-Identifier: Apache-2.0
// Tails every record file of a run into one SeriesStore.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/run/run_records.h"
#include "core/telemetry/series_store.h"

namespace plimsoll {

class RunTelemetry {
public:
    explicit RunTelemetry(RunFolder run) : records_(std::move(run)) {}

    /// Reads new records, at most about `limit` bytes a file; true when there were any.
    bool poll(Bytes limit = 16 * MiB);
    bool at_end() const { return records_.at_end(); }

    const RunFolder& run() const { return records_.run(); }
    const SeriesStore& series() const { return store_; }
    /// A sentence for each file that could not be read.
    std::vector<std::string> problems() const { return records_.problems(); }
    /// A sentence for each file that is damaged in places.
    std::vector<std::string> damages() const { return records_.damage_sentences(); }

private:
    RunRecords records_;
    SeriesStore store_;
};

}  // namespace plimsoll
