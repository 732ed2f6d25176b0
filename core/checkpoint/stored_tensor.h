// SPDX-License-Identifier: Apache-2.0
// Tensors of other tools' checkpoints: their shapes, and the places of their values in one or several files. Without
// LibTorch.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace plimsoll {

/// A contiguous range of a file's bytes.
struct StoredBytes {
    std::filesystem::path path;
    std::uint64_t begin = 0;
    std::uint64_t bytes = 0;
    std::optional<std::uint32_t> crc = {};  ///< CRC-32 of the whole range; nothing where the writer took none
    mutable bool checked = false;           ///< the range was read once and had that checksum
};

/// A box of a tensor and the place of its values.
struct StoredPart {
    std::vector<std::int64_t> offsets, sizes;  ///< of the box, in a tensor of shape `boxes`
    std::shared_ptr<const StoredBytes> bytes;
    /// The bytes are what torch.save wrote of a tensor of these sizes; else the values, from `first` with `strides`.
    bool archive = false;
    std::int64_t first = 0;             ///< first element of the box in the values
    std::vector<std::int64_t> strides;  ///< steps between the box's values, in elements
};

struct StoredTensor {
    std::string name;
    std::string dtype;  ///< as safetensors names it: "F32", "BF16", …
    std::vector<std::int64_t> shape;
    std::vector<StoredPart> parts;
    std::vector<std::int64_t> boxes;  ///< shape that the parts are boxes of: `shape`, or [elements] for flat ranges

    std::int64_t elements() const;
    std::uint64_t bytes() const;
};

/// Copies bytes [from, from + size) of the range `run` to `out`. The first call on a range with a checksum reads the
/// whole range and verifies it.
Result<void> read_bytes(const StoredBytes& run, std::uint64_t from, std::uint64_t size, char* out);

/// Bytes of an element; nothing for a dtype that safetensors does not know.
std::optional<std::uint64_t> dtype_bytes(std::string_view dtype);

/// At most 64 sizes, none below 0, and the bytes of all elements are fewer than 2^63.
bool possible_shape(const std::vector<std::int64_t>& shape, std::string_view dtype);

/// Checks that the parts lie in the tensor, do not overlap and leave no hole, and that every byte they need exists. So
/// sizes that a file only claims are checked against the bytes that it has. An error names the tensor.
Result<void> check_parts(const StoredTensor& tensor);

/// The values, one after another in row-major order, into `out` of tensor.bytes() bytes. `tensor` has passed
/// check_parts.
Result<void> read_values(const StoredTensor& tensor, void* out);

/// The value of a tensor with one element, if it is a whole number; nothing for any other tensor.
std::optional<std::int64_t> whole_number(const StoredTensor& tensor);

}  // namespace plimsoll
