// SPDX-License-Identifier: Apache-2.0
// Symmetric int8 quantization in blocks, for saved activations (block-wise as in Dettmers et al. 2022; linear codes).
#pragma once

#include <torch/torch.h>

namespace plimsoll::engine {

/// number = code x scale, with one scale per block of 256 numbers: the block's largest magnitude / 127. The error of a
/// number is at most half the scale of its block. A block with an infinity or NaN comes back as NaN: what is broken is
/// not hidden.
struct QuantizedBlocks {
    static constexpr std::int64_t block = 256;
    torch::Tensor codes;   ///< int8, [numbers]
    torch::Tensor scales;  ///< fp32, [blocks]
};

/// Quantizes a flat, contiguous tensor of any floating-point dtype. Needs 8 MiB beside the result.
QuantizedBlocks quantize_blocks(const torch::Tensor& flat);
torch::Tensor dequantize_blocks(const QuantizedBlocks& blocks, torch::ScalarType dtype);

}  // namespace plimsoll::engine
