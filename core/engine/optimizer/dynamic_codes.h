// SPDX-License-Identifier: Apache-2.0
// Block-wise dynamic quantization of optimizer states (Dettmers et al. 2022, "8-bit Optimizers").
#pragma once

#include <torch/torch.h>

namespace plimsoll::engine {

/// The 256 numbers that a code stands for, ascending, as bitsandbytes' create_dynamic_map makes them: seven decades,
/// each with twice the fractions of the one below, 0 and 1. Signed: -1 < number <= 1; unsigned: 0 <= number <= 1.
torch::Tensor dynamic_map(bool with_sign);

/// `count` fp32 numbers as one byte each and one fp32 scale a block of 256: number = map[code] x scale. The scale is
/// the block's number of largest magnitude, sign included, so that this number is always stored exactly (bitsandbytes
/// takes the magnitude, and makes -0.993 of a largest number that is negative). Reading and writing again therefore
/// changes nothing, to the bit. A block below 1e-30 becomes 0.
class DynamicCodes {
public:
    static constexpr std::int64_t block = 256;

    /// Zeros.
    DynamicCodes(std::int64_t count, bool with_sign, torch::Device device);
    /// Numbers begin..begin+length as fp32; `begin` stands at the start of a block.
    torch::Tensor read(std::int64_t begin, std::int64_t length) const;
    /// Sets the numbers from `begin`, a block's start, on: whole blocks, but for the last one of all.
    void write(std::int64_t begin, const torch::Tensor& numbers);
    /// The tensors that hold codes and scales.
    std::vector<torch::Tensor> tensors() const { return {codes_, scales_}; }

private:
    bool with_sign_;
    torch::Tensor codes_, scales_;
};

}  // namespace plimsoll::engine
