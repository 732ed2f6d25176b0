// SPDX-License-Identifier: Apache-2.0
// Makes a crashing rank name the crash in its last line.
#pragma once

namespace plimsoll::worker {

/// After this call a fatal signal (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT) or an uncaught exception prints
/// "plimsoll-worker: rank R: …" as the last line on stderr, and then ends the process as before.
void install_last_words(int rank);

}  // namespace plimsoll::worker
