// SPDX-License-Identifier: Apache-2.0
// Reads a record file from the start and tails it as it grows.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/units.h"
#include "core/telemetry/frame.h"
#include "core/telemetry/record.h"

namespace plimsoll {

/// Everything new since the last poll, in file order.
struct TelemetryBatch {
    /// The file is another one than before: drop all that is held of it, then take the batch.
    bool replaced = false;
    /// Set when steps went back (a resumed run, a rollback): drop what is held of this file at and after this step,
    /// then take the points. Points of the batch that a later fork took back are in `left`.
    std::optional<std::uint64_t> fork;
    /// Branches that later forks of this batch took back, oldest first, by series name.
    std::vector<std::map<std::string, std::vector<Point>>> left;
    std::map<std::string, std::vector<Point>> points;  ///< by series name
    std::map<std::string, std::string> units;          ///< of the series defined in this batch
    std::vector<Event> events;                         ///< forks keep them: they are history
    bool empty() const { return points.empty() && events.empty() && units.empty() && !fork && !replaced; }
};

class TelemetryReader {
public:
    explicit TelemetryReader(std::filesystem::path path);

    /// New complete frames. A file that is not there yet is an empty batch; a torn tail is left for the next poll; a
    /// damaged frame in mid-file is passed over. Reads at most `limit` bytes a call (2 MiB at least) so that a huge
    /// backlog can be shown piece by piece: at_end() tells when it caught up. A file that was replaced or cut short is
    /// read again from its start. Error when it is not a record file or cannot be read.
    Result<TelemetryBatch> poll(Bytes limit = 64 * MiB);
    bool at_end() const { return scanner_.at_end(); }
    std::uint64_t offset() const { return scanner_.offset(); }  ///< bytes read so far
    std::uint64_t size() const { return size_; }                ///< of the file at the last poll
    const std::map<std::string, std::string>& units() const { return units_; }
    /// Damaged places passed over so far.
    std::size_t damaged() const { return scanner_.damaged(); }
    /// Values whose series is not declared so far, because its declaration is damaged. The next declaration names them.
    std::size_t unnamed() const { return unnamed_count_; }

private:
    void take(std::string_view payload, TelemetryBatch& batch);
    void take_series(ByteReader& in, TelemetryBatch& batch);
    void take_points(ByteReader& in, TelemetryBatch& batch);
    void fork_at(std::uint64_t step, TelemetryBatch& batch);
    void keep_unnamed(std::uint16_t id, const Point& point);

    std::filesystem::path path_;
    FrameScanner scanner_;
    std::uint64_t inode_ = 0;
    std::uint64_t size_ = 0;
    std::uint64_t last_step_ = 0;
    std::map<std::uint16_t, std::string> names_;
    std::map<std::string, std::string> units_;
    std::map<std::uint16_t, std::vector<Point>> unnamed_;  ///< by id
    std::size_t unnamed_count_ = 0;
};

}  // namespace plimsoll
