// SPDX-License-Identifier: Apache-2.0
#include "core/engine/dynamic_codes.h"

#include <cmath>

namespace plimsoll::engine {

namespace {

/// Below it, scale x the smallest number of the map would leave the range of normal fp32 numbers, and with it
/// exactness.
constexpr double smallest_scale = 1e-30;

std::int64_t blocks_for(std::int64_t count) { return (count + DynamicCodes::block - 1) / DynamicCodes::block; }

}  // namespace

torch::Tensor dynamic_map(bool with_sign) {
    constexpr int decades = 7;
    std::vector<torch::Tensor> numbers{at::tensor({0.0F, 1.0F})};
    for (int i = 0; i < decades; ++i) {
        const std::int64_t fractions = std::int64_t{1} << (with_sign ? i : i + 1);
        const torch::Tensor borders = at::linspace(0.1, 1, fractions + 1, torch::kFloat);
        const torch::Tensor means = (borders.narrow(0, 0, fractions) + borders.narrow(0, 1, fractions)) / 2;
        numbers.push_back(means * std::pow(10.0, i + 1 - decades));
        if (with_sign) numbers.push_back(-numbers.back());
    }
    return std::get<0>(at::cat(numbers).sort());
}

DynamicCodes::DynamicCodes(std::int64_t count, bool with_sign, torch::Device device)
    : map_(dynamic_map(with_sign).to(device)),
      borders_((map_.narrow(0, 0, 255) + map_.narrow(0, 1, 255)) / 2),
      codes_(at::empty({blocks_for(count) * block}, torch::dtype(torch::kByte).device(device))),
      scales_(at::zeros({blocks_for(count)}, torch::dtype(torch::kFloat).device(device))) {
    codes_.fill_(at::bucketize(at::zeros({1}, map_.options()), borders_).squeeze(0));
}

torch::Tensor DynamicCodes::read(std::int64_t begin, std::int64_t length) const {
    const std::int64_t blocks = blocks_for(length);
    const torch::Tensor codes = codes_.narrow(0, begin, blocks * block).to(torch::kInt);
    const torch::Tensor scales = scales_.narrow(0, begin / block, blocks).unsqueeze(1);
    return map_.index_select(0, codes).view({blocks, block}).mul_(scales).view(-1).narrow(0, 0, length);
}

void DynamicCodes::write(std::int64_t begin, const torch::Tensor& numbers) {
    const std::int64_t blocks = blocks_for(numbers.numel());
    if (blocks == 0) return;
    const std::int64_t missing = blocks * block - numbers.numel();
    const torch::Tensor whole = missing == 0 ? numbers : at::constant_pad_nd(numbers, {0, missing});
    const torch::Tensor values = whole.view({blocks, block});
    torch::Tensor scales = values.gather(1, values.abs().argmax(1, /*keepdim=*/true));
    scales.masked_fill_(scales.abs() < smallest_scale, 0);
    const torch::Tensor shares = values / at::where(scales == 0, 1, scales);
    codes_.narrow(0, begin, blocks * block).copy_(at::bucketize(shares, borders_, /*out_int32=*/true).view(-1));
    scales_.narrow(0, begin / block, blocks).copy_(scales.squeeze(1));
}

}  // namespace plimsoll::engine
