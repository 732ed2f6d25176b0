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
    std::filesystem::path config;  ///< the config.json beside them; empty where there is none
};

/// Of a file; of a folder the files that its index (*.safetensors.index.json) names, without one all of *.safetensors.
/// Error where a header is damaged, a file of the index is missing, a tensor is in two files, or the index tells of
/// other tensors than the files.
Result<SafetensorsCounts> count_safetensors(const std::filesystem::path& file_or_folder);

Json to_json(const SafetensorsCounts& counts);

}  // namespace plimsoll
