// SPDX-License-Identifier: Apache-2.0
// Whether the kernel's out-of-memory killer has struck.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace plimsoll {

/// Processes that the kernel has killed for want of memory since it was started, in any control group (`oom_kill` of
/// /proc/vmstat). Nothing where the kernel does not count them.
std::optional<std::uint64_t> oom_kills(const std::filesystem::path& vmstat = "/proc/vmstat");

}  // namespace plimsoll
