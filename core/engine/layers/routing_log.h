// SPDX-License-Identifier: Apache-2.0
// How many rows each expert got, in the order in which the routers of a step said so.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace plimsoll::engine {

using RowCounts = std::vector<std::int64_t>;

/// While a log lives, the routers of this thread note their row counts in it. A log with the counts of an earlier step
/// replays them to the routers of a dry run, which route nothing themselves: the same step of the same plan asks in the
/// same order.
class RoutingLog {
public:
    RoutingLog();
    explicit RoutingLog(std::vector<RowCounts> to_replay);
    ~RoutingLog();
    RoutingLog(const RoutingLog&) = delete;
    RoutingLog& operator=(const RoutingLog&) = delete;

    void note(const RowCounts& counts) { counts_.push_back(counts); }
    /// The next counts to replay, if they are for the same number of experts and rows.
    std::optional<RowCounts> next(std::int64_t experts, std::int64_t rows);
    const std::vector<RowCounts>& counts() const { return counts_; }

    /// The log of this thread, or null.
    static RoutingLog* current();

private:
    std::vector<RowCounts> counts_;
    std::size_t at_ = 0;
    RoutingLog* outer_;
};

}  // namespace plimsoll::engine
