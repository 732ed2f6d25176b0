// SPDX-License-Identifier: Apache-2.0
// Asks a plimsoll-worker process for work of the engine, because the calling program does not link LibTorch.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace plimsoll {

/// Runs the worker with `input` on its standard input, and gives its output. Error: the worker's last sentence, with
/// its kind; `what` begins the sentence where there is no worker or it was killed ("a dry run"). An empty `worker`
/// means find_worker()'s.
Result<std::string> ask_worker(const std::vector<std::string>& arguments, const std::string& input,
                               const std::string& what, const std::filesystem::path& worker = {});

}  // namespace plimsoll
