// SPDX-License-Identifier: Apache-2.0
// The JSON header of a safetensors file (https://github.com/huggingface/safetensors#format).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/engine/safetensors.h"

namespace plimsoll::engine {

/// The reference implementation's limit.
inline constexpr std::uint64_t max_safetensors_header = 100'000'000;

/// Where a tensor lies: bytes [begin, end) behind the header.
struct TensorPlace {
    std::string name;
    torch::ScalarType dtype = torch::kFloat;
    std::vector<std::int64_t> shape;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
};

/// Gives the tensors' places in file order. `data_bytes` is what the file holds behind the header; the places must
/// fill it without a hole or an overlap. `what` names the file in errors.
Result<std::vector<TensorPlace>> parse_safetensors_header(std::string_view json, std::uint64_t data_bytes,
                                                          const std::string& what, Metadata* metadata);

/// The header of these tensors, laid out one behind the other in this order, padded with spaces to a multiple of 8.
Result<std::string> make_safetensors_header(const NamedTensors& tensors, const Metadata& metadata);

}  // namespace plimsoll::engine
