// SPDX-License-Identifier: Apache-2.0
// Tails every record file of a run: the one reader of them, under the terminal's and the window's.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/run/run_folder.h"
#include "core/telemetry/reader.h"

namespace plimsoll {

class RunRecords {
public:
    /// What one rank's file gave; supervisor_rank: the supervisor's.
    using RankBatch = std::pair<int, TelemetryBatch>;
    struct Damage {
        int rank = 0;
        std::size_t places = 0;   ///< passed over so far
        std::size_t unnamed = 0;  ///< values whose series is not known, for want of its declaration
    };

    explicit RunRecords(RunFolder run) : run_(std::move(run)) {}

    const RunFolder& run() const { return run_; }
    /// Looks for files that have appeared. Files of max_ranks and more ranks are none.
    void look();
    /// What is new in the files found so far, in order of the ranks; at most about `limit` bytes a file. A file that
    /// cannot be read does not stop the rest, and is tried again with the next poll.
    std::vector<RankBatch> poll(Bytes limit);

    /// All that is on disk and can be read has been.
    bool at_end() const;
    double progress() const;  ///< 0…1 of the bytes on disk
    /// What could not be read, a sentence a file.
    std::vector<std::string> problems() const;
    std::vector<Damage> damages() const;
    /// A sentence for each of them.
    std::vector<std::string> damage_sentences() const;

private:
    struct File {
        TelemetryReader reader;
        std::string problem;  ///< "" where the last poll could read it
    };

    RunFolder run_;
    std::map<int, File> files_;  ///< by rank
};

}  // namespace plimsoll
