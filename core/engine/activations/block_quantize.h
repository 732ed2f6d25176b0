// SPDX-License-Identifier: Apache-2.0
// Symmetric int8 quantization in blocks, for saved activations (block-wise as in Dettmers et al. 2022; linear codes).
#pragma once

#include <torch/torch.h>

namespace plimsoll::engine {

/// number = code x scale, with one scale a block of 256 numbers: its largest magnitude / 127. No number is off by more
/// than half of its block's scale. A block with an infinity or NaN comes back as NaN:
/// what is broken is not hidden.
struct QuantizedBlocks {
    static constexpr std::int64_t block = 256;
    torch::Tensor codes;   ///< int8, [numbers]
    torch::Tensor scales;  ///< fp32, [blocks]
};

/// Of a flat, contiguous tensor of any floating-point dtype. Beside the result it needs 8 MiB.
QuantizedBlocks quantize_blocks(const torch::Tensor& flat);
torch::Tensor dequantize_blocks(const QuantizedBlocks& blocks, torch::ScalarType dtype);

}  // namespace plimsoll::engine
