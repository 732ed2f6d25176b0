// SPDX-License-Identifier: Apache-2.0
// All series and events of a run, gathered from the record files of its ranks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/telemetry/pyramid.h"
#include "core/telemetry/reader.h"

namespace plimsoll {

/// Series of rank 0 keep their name; those of another rank get "@RANK" behind it: "memory", "memory@1", …
class SeriesStore {
public:
    /// Takes what a rank's reader found (rank -1: the supervisor's file, events only). Forks of a resumed run cut what
    /// is held of that rank.
    void apply(const TelemetryBatch& batch, int rank = 0);

    const std::map<std::string, Pyramid>& series() const { return series_; }
    /// nullptr when there is no such series (yet).
    const Pyramid* find(const std::string& name) const;
    /// What forks took back of a series, oldest first: the branches that a run left.
    const std::vector<Pyramid>& branches(const std::string& name) const;
    /// Of the series' name with or without "@RANK"; "" when not known.
    std::string unit(const std::string& name) const;
    /// In order of time.
    const std::vector<Event>& events() const { return events_; }
    /// When the run's ranks started last (seconds since the epoch): what was recorded before is of an earlier start,
    /// perhaps under another layout. 0 when no start is recorded.
    double latest_start() const;
    /// Mean over the last steps (50 at most) of the latest start, by the clock between the records of the loss, so that
    /// validations and checkpoints count. Nothing before its second step.
    std::optional<double> seconds_a_step() const;
    /// Highest step of any series; 0 when there is none.
    std::uint64_t last_step() const;

    static std::string name_on_rank(const std::string& name, int rank);

private:
    void forget(int rank);
    void cut(int rank, std::uint64_t step);
    void add_events(std::vector<Event> events, int rank);

    std::map<std::string, Pyramid> series_;
    std::map<std::string, std::vector<Pyramid>> branches_;
    std::map<int, std::vector<std::string>> of_rank_;  ///< names of each rank's series, for forks
    std::map<std::string, std::string> units_;
    std::vector<Event> events_;
    std::vector<int> event_ranks_;  ///< of each event
};

}  // namespace plimsoll
