// SPDX-License-Identifier: Apache-2.0
// Tensors of other tools' checkpoints: what they are, and where their values lie in how many files. Without LibTorch.
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

/// A run of bytes of a file.
struct StoredBytes {
    std::filesystem::path path;
    std::uint64_t begin = 0;
    std::uint64_t bytes = 0;
    std::optional<std::uint32_t> crc = {};  ///< CRC-32 of all of them; nothing where the writer took none
    mutable bool checked = false;           ///< they were read once and had that checksum
};

/// A box of a tensor and the values in it.
struct StoredPart {
    std::vector<std::int64_t> offsets, sizes;  ///< of the box, in the tensor's `boxes`
    std::shared_ptr<const StoredBytes> bytes;
    bool archive =
        false;  ///< the bytes are what torch.save wrote of a tensor of these sizes; else the values themselves,
    std::int64_t first = 0;             ///< from this element,
    std::vector<std::int64_t> strides;  ///< with these steps, in elements
};

struct StoredTensor {
    std::string name;
    std::string dtype;  ///< as safetensors names it: "F32", "BF16", …
    std::vector<std::int64_t> shape;
    std::vector<StoredPart> parts;
    std::vector<std::int64_t> boxes;  ///< the shape that the parts are boxes of: `shape`, or [elements] for runs of it

    std::int64_t elements() const;
    std::uint64_t bytes() const;
};

/// Bytes [from, from + size) of the run into `out`. Where it has a checksum, the first call reads all of it and holds
/// it against that.
Result<void> read_bytes(const StoredBytes& run, std::uint64_t from, std::uint64_t size, char* out);

/// Bytes of an element; nothing for a dtype that safetensors has not.
std::optional<std::uint64_t> dtype_bytes(std::string_view dtype);

/// At most 64 sizes, none below 0, and the bytes of all elements are fewer than 2^63.
bool possible_shape(const std::vector<std::int64_t>& shape, std::string_view dtype);

/// The parts lie in the tensor, do not overlap and leave no hole, and none needs bytes that are not there. An error
/// names the tensor. Sizes that a file only claims are thereby held against bytes that it has.
Result<void> check_parts(const StoredTensor& tensor);

/// The values, one after another in row-major order, into `out` of tensor.bytes() bytes. `tensor` has passed
/// check_parts.
Result<void> read_values(const StoredTensor& tensor, void* out);

/// The value of a tensor with one element, where that is a whole number; nothing for any other.
std::optional<std::int64_t> whole_number(const StoredTensor& tensor);

}  // namespace plimsoll
