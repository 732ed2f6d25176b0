// SPDX-License-Identifier: Apache-2.0
// Makes a crashing rank name the crash in its last line.
#pragma once

#include <string_view>

namespace plimsoll::worker {

/// To standard error, and to the supervisor where there is one: the log that standard error leads to may have no room.
/// May be called from a signal handler.
void say_last_words(std::string_view line) noexcept;

/// Takes the supervisor's channel from the environment, for say_last_words().
void open_last_words();

/// After this call a fatal signal (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT) or an uncaught exception prints
/// "plimsoll-worker: rank R: …" as the last line on stderr, and then ends the process as before.
void install_last_words(int rank);

}  // namespace plimsoll::worker
