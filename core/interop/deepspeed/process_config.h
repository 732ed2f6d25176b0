// SPDX-License-Identifier: Apache-2.0
// What a running process was started with, where it can be read: its command line names the file.
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
    std::optional<std::int64_t> world_size;  ///< by its environment, where that may be read
};

/// Paths of the command line are taken from the process's own folder. Error where there is no such process, where it
/// may not be read, and where its command line names no configuration. `proc`: another place than /proc, for tests.
Result<ProcessConfig> find_process_config(std::int64_t pid, const std::filesystem::path& proc = "/proc");

}  // namespace plimsoll
