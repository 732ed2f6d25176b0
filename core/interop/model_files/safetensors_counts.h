// SPDX-License-Identifier: Apache-2.0
// How many parameters safetensors files hold, from their headers alone.
#pragma once

#include <filesystem>
#include <vector>

#include "core/base/json.h"
#include "core/base/result.h"
#include "core/interop/model_files/dtype_counts.h"

namespace plimsoll {

struct SafetensorsCounts : DtypeCounts {
    std::vector<std::filesystem::path> files;
    std::filesystem::path config;  ///< config.json beside the files; empty where there is none
};

/// Counts a file, or in a folder the files that its index (*.safetensors.index.json) names, or all *.safetensors where
/// there is no index. Error where a header is damaged, a file of the index is missing, a tensor is in two files, or the
/// index and the files name different tensors.
Result<SafetensorsCounts> count_safetensors(const std::filesystem::path& file_or_folder);

Json to_json(const SafetensorsCounts& counts);

}  // namespace plimsoll
