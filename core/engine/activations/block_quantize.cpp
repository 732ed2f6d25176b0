// SPDX-License-Identifier: Apache-2.0
#include "core/engine/activations/block_quantize.h"

#include <limits>

namespace plimsoll::engine {

namespace {

constexpr std::int64_t block = QuantizedBlocks::block;
/// Numbers of whole blocks per pass: their fp32 copies stay in cache.
constexpr std::int64_t chunk = 1 << 20;

std::int64_t blocks_for(std::int64_t count) { return (count + block - 1) / block; }

/// A piece as rows of whole blocks, padded with zeros.
torch::Tensor as_blocks(const torch::Tensor& piece) {
    const std::int64_t blocks = blocks_for(piece.numel()), missing = blocks * block - piece.numel();
    return (missing == 0 ? piece : at::constant_pad_nd(piece, {0, missing})).view({blocks, block});
}

template <class Visit>
void for_each_chunk(std::int64_t count, const Visit& visit) {
    for (std::int64_t begin = 0; begin < count; begin += chunk) {
        const std::int64_t length = std::min(chunk, count - begin);
        visit(begin, length, begin / block, blocks_for(length));
    }
}

}  // namespace

QuantizedBlocks quantize_blocks(const torch::Tensor& flat) {
    const torch::NoGradGuard no_grad;
    QuantizedBlocks result{at::empty({flat.numel()}, flat.options().dtype(torch::kChar)),
                           at::empty({blocks_for(flat.numel())}, flat.options().dtype(torch::kFloat))};
    for_each_chunk(flat.numel(), [&](std::int64_t begin, std::int64_t length, std::int64_t first, std::int64_t blocks) {
        const torch::Tensor values = as_blocks(flat.narrow(0, begin, length).to(torch::kFloat));
        torch::Tensor scales = values.abs().amax(1, /*keepdim=*/true).div_(127);
        // 0 x NaN is NaN as well: the mark covers the whole block.
        scales.masked_fill_(scales.isfinite().logical_not_(), std::numeric_limits<double>::quiet_NaN());
        result.scales.narrow(0, first, blocks).copy_(scales.squeeze(1));
        // With a scale of 0 or NaN the code does not matter; 0 is one to which every number can be cast.
        torch::Tensor codes = values.div(scales).round_().clamp_(-127, 127).nan_to_num_(0);
        result.codes.narrow(0, begin, length).copy_(codes.view(-1).narrow(0, 0, length));
    });
    return result;
}

torch::Tensor dequantize_blocks(const QuantizedBlocks& blocks, torch::ScalarType dtype) {
    const torch::NoGradGuard no_grad;
    torch::Tensor result = at::empty({blocks.codes.numel()}, blocks.scales.options().dtype(dtype));
    for_each_chunk(blocks.codes.numel(),
                   [&](std::int64_t begin, std::int64_t length, std::int64_t first, std::int64_t count) {
                       torch::Tensor values = as_blocks(blocks.codes.narrow(0, begin, length).to(torch::kFloat));
                       values.mul_(blocks.scales.narrow(0, first, count).unsqueeze(1));
                       result.narrow(0, begin, length).copy_(values.view(-1).narrow(0, 0, length));
                   });
    return result;
}

}  // namespace plimsoll::engine
