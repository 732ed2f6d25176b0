// SPDX-License-Identifier: Apache-2.0
// The c10d store of a run, in a process of its own (`plimsoll-worker --store`): it outlives every rank.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/base/units.h"
#include "core/run/processes/process.h"

namespace plimsoll {

class StoreProcess {
public:
    /// Starts the store; its errors go to `log`. It serves until this object is destroyed (its stdin closes).
    static Result<StoreProcess> start(const std::filesystem::path& worker, const std::filesystem::path& log);

    /// Waits `wait_ms` at most for the port. 0 means not yet; an error says why there will be no port: the store ended,
    /// printed something else, or took longer than `timeout` since its start.
    Result<int> port(int wait_ms, Seconds timeout);

    bool ended() { return process_.end().has_value(); }
    /// "the store … ended; its last words: …"
    std::string obituary();

private:
    StoreProcess(Process&& process, UniqueFd&& in, UniqueFd&& out, std::filesystem::path log, std::uint64_t log_from)
        : in_(std::move(in)),
          out_(std::move(out)),
          process_(std::move(process)),
          log_(std::move(log)),
          log_from_(log_from) {}

    UniqueFd in_, out_;
    Process process_;
    std::filesystem::path log_;
    std::uint64_t log_from_ = 0;
    std::string line_;
    std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
};

}  // namespace plimsoll
