// SPDX-License-Identifier: Apache-2.0
// Reads a record file from the start and tails it as it grows.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/units.h"
#include "core/telemetry/record.h"

namespace plimsoll {

/// Everything new since the last poll, in file order.
struct TelemetryBatch {
    std::map<std::string, std::vector<Point>> points;  ///< by series name
    std::vector<Event> events;
    bool empty() const { return points.empty() && events.empty(); }
};

class TelemetryReader {
public:
    explicit TelemetryReader(std::filesystem::path path);

    /// New complete frames. A file that is not there yet is an empty batch; a torn tail is left for the next poll; a
    /// damaged frame (checksum) in mid-file is skipped where its length still leads to a good frame. Reads at most
    /// `limit` bytes a call so that a huge backlog can be shown piece by piece: at_end() tells when it caught up.
    Result<TelemetryBatch> poll(Bytes limit = 64 * MiB);
    bool at_end() const { return at_end_; }
    const std::map<std::string, std::string>& units() const { return units_; }

private:
    std::filesystem::path path_;
    std::uint64_t offset_ = 0;
    bool at_end_ = true;
    std::map<std::uint16_t, std::string> names_;
    std::map<std::string, std::string> units_;
};

}  // namespace plimsoll
