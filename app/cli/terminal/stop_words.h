// SPDX-License-Identifier: Apache-2.0
// A stop in words: what was asked for, and what is still waited for.
#pragma once

#include <string>

#include "core/run/processes/supervisor.h"
#include "core/run/stop_wait.h"

namespace plimsoll::cli {

/// "step 13 ends in about 14 s, then its checkpoint is saved", "the checkpoint of step 13 is being saved: 210 of 341
/// MiB".
std::string wait_words(const StopWait& wait);

/// What a Ctrl-C has asked for, and what the next one does.
std::string stop_words(StopWish wish, const StopWait& wait);

/// A few words for the end of a line: "Ctrl-C again: do not wait for the step".
std::string next_interrupt_words(StopWish wish);

}  // namespace plimsoll::cli
