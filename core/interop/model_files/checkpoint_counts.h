// SPDX-License-Identifier: Apache-2.0
// What a checkpoint of PyTorch or DeepSpeed holds, without its values.
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>

#include "core/base/json.h"
#include "core/base/result.h"
#include "core/interop/model_files/dtype_counts.h"

namespace plimsoll {

struct CheckpointCounts : DtypeCounts {
    std::string kind;             ///< "safetensors", "torch.save", "DeepSpeed universal", …
    std::filesystem::path place;  ///< the file or folder that was found
    std::size_t files = 0;
    std::optional<std::int64_t> step;
    std::set<std::string> states;  ///< the optimizer's: exp_avg, exp_avg_sq, …
    std::filesystem::path config;  ///< the config.json with them; empty where there is none
};

/// Of the weights in a file or folder: safetensors (safetensors_counts.h) or what open_checkpoint knows. Error as of
/// these.
Result<CheckpointCounts> count_checkpoint(const std::filesystem::path& file_or_folder);

Json to_json(const CheckpointCounts& counts);

}  // namespace plimsoll
