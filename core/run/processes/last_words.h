// SPDX-License-Identifier: Apache-2.0
// The last output of a worker that died, and its meaning for a person.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/run/processes/process.h"

namespace plimsoll {

/// The last non-empty lines (3 at most, 400 bytes in all) that were written to the log behind byte `from`, without
/// control characters, joined by " / ".
std::string last_words(const std::filesystem::path& log, std::uint64_t from);

/// "was killed by signal 9 (SIGKILL)" or "ended with exit code 1".
std::string how_it_ended(const ProcessEnd& end);

/// Whether the kernel killed for want of memory while the rank ran (oom_kills.h).
enum class OomKiller { Unknown, Quiet, Struck };

/// The remedy for a person, by signature: out of memory, SIGKILL, SIGSEGV, disk full, …
std::string what_to_do(const ProcessEnd& end, const std::string& words, const std::filesystem::path& log,
                       OomKiller killer = OomKiller::Unknown);

/// Whether the output belongs to a worker that only noticed the death of another worker ("connection closed by peer").
bool is_follow_up(const ProcessEnd& end, const std::string& words);

}  // namespace plimsoll
