// SPDX-License-Identifier: Apache-2.0
// The contents of a checkpoint of PyTorch or DeepSpeed, without its values.
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
    std::set<std::string> states;  ///< names of the optimizer's states: exp_avg, exp_avg_sq, …
    std::filesystem::path config;  ///< config.json beside the weights; empty where there is none
};

/// Counts the weights in a file or folder: safetensors (safetensors_counts.h) or any kind that open_checkpoint knows.
/// Errors are those of the two readers.
Result<CheckpointCounts> count_checkpoint(const std::filesystem::path& file_or_folder);

Json to_json(const CheckpointCounts& counts);

}  // namespace plimsoll
