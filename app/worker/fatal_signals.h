// SPDX-License-Identifier: Apache-2.0
// A rank that crashes says so in its last line.
#pragma once

namespace plimsoll::worker {

/// From here on a fatal signal (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT) and an uncaught exception end with
/// "plimsoll-worker: rank R: …" as the last line on stderr, then die as they would have.
void install_last_words(int rank);

}  // namespace plimsoll::worker
