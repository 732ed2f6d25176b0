// SPDX-License-Identifier: Apache-2.0
// How many parameters safetensors files hold, from their headers alone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/base/result.h"
#include "core/base/units.h"

namespace plimsoll {

struct DtypeCount {
    std::string dtype;  ///< as the format names it: "BF16"
    std::int64_t tensors = 0;
    std::int64_t parameters = 0;
    Bytes bytes = 0;
};

struct SafetensorsCounts {
    std::vector<std::filesystem::path> files;
    std::vector<DtypeCount> dtypes;  ///< the most bytes first
    DtypeCount total;
    std::filesystem::path config;  ///< the config.json beside them; empty where there is none
};

/// Of a file; of a folder the files that its index (*.safetensors.index.json) names, without one all of *.safetensors.
/// Error where a header is damaged, a file of the index is missing, a tensor is in two files, or the index tells of
/// other tensors than the files.
Result<SafetensorsCounts> count_safetensors(const std::filesystem::path& file_or_folder);

Json to_json(const SafetensorsCounts& counts);

}  // namespace plimsoll
