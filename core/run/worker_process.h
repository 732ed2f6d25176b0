// SPDX-License-Identifier: Apache-2.0
// What needs the engine, asked of a plimsoll-worker of its own: it has LibTorch, and who asks has none.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace plimsoll {

/// Runs the worker with `input` on its standard input, and gives what it printed. Error: its last sentence, with its
/// kind; `what` begins the sentence where there is no worker or it was killed ("a dry run"). `worker`: empty:
/// find_worker()'s.
Result<std::string> ask_worker(const std::vector<std::string>& arguments, const std::string& input,
                               const std::string& what, const std::filesystem::path& worker = {});

}  // namespace plimsoll
