// SPDX-License-Identifier: Apache-2.0
// How many rows each expert got, in the order in which the routers of a step said so.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace plimsoll::engine {

using RowCounts = std::vector<std::int64_t>;

/// While it lives, routers of this thread tell it what they found; or with counts of an earlier step, a dry run's
/// routers, which find nothing themselves, ask it. The same step of the same plan asks in the same order.
class RoutingLog {
public:
    RoutingLog();
    explicit RoutingLog(std::vector<RowCounts> to_replay);
    ~RoutingLog();
    RoutingLog(const RoutingLog&) = delete;
    RoutingLog& operator=(const RoutingLog&) = delete;

    void note(const RowCounts& counts) { counts_.push_back(counts); }
    /// The next of the counts to replay, where it is of as many experts and rows.
    std::optional<RowCounts> next(std::int64_t experts, std::int64_t rows);
    const std::vector<RowCounts>& counts() const { return counts_; }

    /// Of this thread, or null.
    static RoutingLog* current();

private:
    std::vector<RowCounts> counts_;
    std::size_t at_ = 0;
    RoutingLog* outer_;
};

}  // namespace plimsoll::engine
