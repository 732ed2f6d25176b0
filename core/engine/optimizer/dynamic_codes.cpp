// SPDX-License-Identifier: Apache-2.0
#include "core/engine/optimizer/dynamic_codes.h"

#include <cmath>
#include <map>
#include <mutex>
#include <string>

namespace plimsoll::engine {

namespace {

/// With a lower scale, scale x the smallest number of the map would leave the range of normal fp32 numbers and lose
/// exactness.
constexpr double smallest_scale = 1e-30;

std::int64_t blocks_for(std::int64_t count) { return (count + DynamicCodes::block - 1) / DynamicCodes::block; }

/// Leading bits of an fp32 number that select its code: sign, exponent and 11 bits of the fraction. They distinguish
/// numbers that differ by 0.05 %, and the map's closest neighbours differ by 0.7 %.
constexpr int prefix_bits = 20;

torch::Tensor prefixes(const torch::Tensor& numbers) {
    // The shift repeats the sign.
    return at::bitwise_right_shift(numbers.view(torch::kInt), 32 - prefix_bits).bitwise_and_((1 << prefix_bits) - 1);
}

struct Tables {
    torch::Tensor map;      ///< code -> number
    torch::Tensor code_of;  ///< prefix -> nearest code; a search among the borders would take 30 times as long
};

Tables made_tables(bool with_sign, torch::Device device) {
    const torch::Tensor map = dynamic_map(with_sign);
    const torch::Tensor borders = (map.narrow(0, 0, 255) + map.narrow(0, 1, 255)) / 2;
    const torch::Tensor middles = at::arange(std::int64_t{1} << prefix_bits, torch::kInt)
                                      .bitwise_left_shift(32 - prefix_bits)
                                      .bitwise_or(1 << (31 - prefix_bits));
    const torch::Tensor codes = at::bucketize(middles.view(torch::kFloat), borders, /*out_int32=*/true);
    return {map.to(device), codes.to(torch::kByte).to(device)};
}

/// Made once for a device: the tables take a MiB.
const Tables& tables(bool with_sign, torch::Device device) {
    static std::mutex mutex;
    static std::map<std::pair<bool, std::string>, Tables> all;
    const std::lock_guard lock(mutex);
    const auto [entry, is_new] = all.try_emplace({with_sign, device.str()});
    if (is_new) entry->second = made_tables(with_sign, device);
    return entry->second;
}

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
    : with_sign_(with_sign),
      codes_(at::empty({blocks_for(count) * block}, torch::dtype(torch::kByte).device(device))),
      scales_(at::zeros({blocks_for(count)}, torch::dtype(torch::kFloat).device(device))) {
    const Tables& own = tables(with_sign, device);
    codes_.fill_(own.code_of.index_select(0, prefixes(at::zeros({1}, own.map.options()))).squeeze(0));
}

torch::Tensor DynamicCodes::read(std::int64_t begin, std::int64_t length) const {
    const std::int64_t blocks = blocks_for(length);
    const torch::Tensor codes = codes_.narrow(0, begin, blocks * block).to(torch::kInt);
    const torch::Tensor scales = scales_.narrow(0, begin / block, blocks).unsqueeze(1);
    const torch::Tensor& map = tables(with_sign_, codes_.device()).map;
    return map.index_select(0, codes).view({blocks, block}).mul_(scales).view(-1).narrow(0, 0, length);
}

void DynamicCodes::write(std::int64_t begin, const torch::Tensor& numbers) {
    const std::int64_t blocks = blocks_for(numbers.numel());
    if (blocks == 0) return;
    const std::int64_t missing = blocks * block - numbers.numel();
    const torch::Tensor whole = missing == 0 ? numbers : at::constant_pad_nd(numbers, {0, missing});
    const torch::Tensor values = whole.view({blocks, block});
    torch::Tensor scales = values.amax(1, /*keepdim=*/true);
    if (with_sign_) {
        const torch::Tensor lowest = values.amin(1, /*keepdim=*/true);
        scales = at::where(scales >= -lowest, scales, lowest);
    }
    scales.masked_fill_(scales.abs() < smallest_scale, 0);
    const torch::Tensor shares = values / at::where(scales == 0, 1, scales);
    const torch::Tensor& code_of = tables(with_sign_, codes_.device()).code_of;
    codes_.narrow(0, begin, blocks * block).copy_(code_of.index_select(0, prefixes(shares).view(-1)));
    scales_.narrow(0, begin / block, blocks).copy_(scales.squeeze(1));
}

}  // namespace plimsoll::engine
