// SPDX-License-Identifier: Apache-2.0
#include "core/engine/layers/routing_log.h"

#include <numeric>
#include <utility>

namespace plimsoll::engine {

namespace {
thread_local RoutingLog* log_of_thread = nullptr;
}

RoutingLog::RoutingLog() : outer_(std::exchange(log_of_thread, this)) {}
RoutingLog::RoutingLog(std::vector<RowCounts> to_replay) : RoutingLog() { counts_ = std::move(to_replay); }
RoutingLog::~RoutingLog() { log_of_thread = outer_; }
RoutingLog* RoutingLog::current() { return log_of_thread; }

std::optional<RowCounts> RoutingLog::next(std::int64_t experts, std::int64_t rows) {
    if (at_ >= counts_.size()) return std::nullopt;
    const RowCounts& counts = counts_[at_++];
    if (static_cast<std::int64_t>(counts.size()) != experts) return std::nullopt;
    // The number of rows from other ranks (rows < 0) depends on those ranks and is not checked.
    if (rows >= 0 && std::accumulate(counts.begin(), counts.end(), std::int64_t{0}) != rows) return std::nullopt;
    return counts;
}

}  // namespace plimsoll::engine
