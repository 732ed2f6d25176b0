// SPDX-License-Identifier: Apache-2.0
// The JSON header of a safetensors file (https://github.com/huggingface/safetensors#format).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/file_io.h"
#include "core/base/result.h"

namespace plimsoll {

/// The reference implementation's limit.
inline constexpr std::uint64_t max_safetensors_header = 100'000'000;

using Metadata = std::map<std::string, std::string>;

/// Where a tensor lies: bytes [begin, end) behind the header.
struct TensorPlace {
    std::string name;
    std::string dtype;  ///< as the format names it: "F32", "BF16", …
    std::vector<std::int64_t> shape;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t bytes() const { return end - begin; }
};

struct SafetensorsHeader {
    std::vector<TensorPlace> places;  ///< in file order
    Metadata metadata;
    std::uint64_t data = 0;  ///< where the tensors' bytes begin in the file
};

/// `data_bytes` is the number of bytes behind the header; the places must fill them without a hole or an overlap.
/// `what` names the file in errors.
Result<SafetensorsHeader> parse_safetensors_header(std::string_view json, std::uint64_t data_bytes,
                                                   const std::string& what);

/// The header of a file; every rule of the format is enforced (no holes, no overlaps, sizes match, no duplicate keys,
/// header within limits), so that all places lie in the file.
Result<SafetensorsHeader> read_safetensors_header(const FileReader& file, const std::string& what);

/// The header of these tensors, laid out one behind the other in this order with the sizes of their places, padded with
/// spaces to a multiple of 8.
Result<std::string> make_safetensors_header(const std::vector<TensorPlace>& tensors, const Metadata& metadata);

/// Writes the beginning of a file: the header's length and the header.
Result<void> write_safetensors_header(FileWriter& file, const std::string& header);

}  // namespace plimsoll
