// SPDX-License-Identifier: Apache-2.0
// How the ranks find one another: the c10d store, and the address at which peers reach this process.
#pragma once

#include <chrono>
#include <exception>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "core/base/result.h"
#include "core/base/units.h"
#include "core/engine/ranks/rank_info.h"

namespace plimsoll::engine {

inline std::chrono::milliseconds to_milliseconds(Seconds seconds) {
    return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

/// LibTorch's message without its C++ stack trace and the place in its source.
std::string first_line(const std::exception& error);

/// The address of this machine from which `host` is reached, so that peers can reach it too: a machine's own name
/// often means 127.0.1.1. No packet is sent.
Result<std::string> local_address(const std::string& host, int port);

/// The run's store, with keys of this attempt, sealed by the secret of the run. `may_serve`: rank 0 serves it where nobody else does.
Result<c10::intrusive_ptr<c10d::Store>> connect_store(const RankInfo& info, Seconds timeout, bool may_serve = true);

}  // namespace plimsoll::engine
