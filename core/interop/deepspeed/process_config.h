// SPDX-License-Identifier: Apache-2.0
// The configuration of a running process, found by the file that its command line names.
#pragma once

#include <filesystem>
#include <optional>

#include "core/base/result.h"

namespace plimsoll {

struct ProcessConfig {
    enum class Kind {
        DeepSpeed,  ///< the file of --deepspeed_config, or of transformers' --deepspeed
        Plimsoll,   ///< plan.json of a worker's run folder
    } kind = Kind::DeepSpeed;
    std::filesystem::path path;
    std::optional<std::int64_t> world_size;  ///< from the process's environment, where that may be read
};

/// Relative paths on the command line start at the process's own folder. Error where no such process exists, where the
/// process may not be read, and where its command line names no configuration. `proc`: another place than /proc, for
/// tests.
Result<ProcessConfig> find_process_config(std::int64_t pid, const std::filesystem::path& proc = "/proc");

}  // namespace plimsoll
