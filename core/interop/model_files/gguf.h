// SPDX-License-Identifier: Apache-2.0
// The metadata of a GGUF file, and where its tensors lie, without reading them
// (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/base/result.h"
#include "core/base/units.h"

namespace plimsoll {

struct GgufTensor {
    std::string name;
    std::vector<std::int64_t> shape;  ///< in the file's order: the dimension that is contiguous comes first
    std::uint32_t type = 0;           ///< ggml_type: 0 F32, 1 F16, 12 Q4_K, 30 BF16, …
    std::uint64_t offset = 0;         ///< behind the start of the data
    std::int64_t elements = 0;
};

struct GgufFile {
    int version = 0;
    std::map<std::string, Json> values;                  ///< numbers, flags and texts of up to 1 MiB
    std::map<std::string, std::uint64_t> array_lengths;  ///< arrays, whose elements are passed over
    std::vector<GgufTensor> tensors;                     ///< in file order

    const GgufTensor* find(const std::string& name) const;  ///< null: there is none
};

/// Versions 2 and 3, little-endian. Every length and count is checked against the size of the file before it is used,
/// and each tensor of a known type has to lie in the file. The error says what is damaged or not supported.
Result<GgufFile> read_gguf(const std::filesystem::path& path);

/// Bytes of `elements` numbers, which are stored in whole blocks; nothing for an unknown type or a number that leaves a
/// block unfilled.
std::optional<Bytes> gguf_bytes(std::uint32_t type, std::int64_t elements);

}  // namespace plimsoll
