// SPDX-License-Identifier: Apache-2.0
#include "core/engine/optimizer/stochastic_rounding.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/engine/base/mixed_bits.h"
#include "core/engine/memory/host_values.h"

namespace plimsoll::engine {

namespace {

constexpr std::uint64_t golden = 0x9E3779B97F4A7C15ULL;
/// A hash of 64 bits serves so many neighbours with 16 bits each.
constexpr std::uint64_t neighbours = 4;

/// Calls visit(offset, place, count) for runs of numbers that are neighbours in the slice and in the whole parameter.
template <class Visit>
void for_each_run(const RoundingBits& bits, std::int64_t length, const Visit& visit) {
    const Shard& shard = bits.shard;
    if (shard.dim < 0) return visit(std::int64_t{0}, bits.begin, length);
    const auto dim = static_cast<std::size_t>(shard.dim);
    std::int64_t inner = 1, own = 0;
    for (std::size_t d = dim + 1; d < shard.whole.size(); ++d) inner *= shard.whole[d];
    for (const auto& range : shard.ranges) own += range.second;
    for (std::int64_t offset = 0; offset < length;) {
        const std::int64_t at = bits.begin + offset, within = at % inner, outer = at / inner / own;
        std::int64_t row = at / inner % own;
        auto range = shard.ranges.begin();
        for (; row >= range->second; ++range) row -= range->second;
        const std::int64_t count = std::min((range->second - row) * inner - within, length - offset);
        visit(offset, (outer * shard.whole[dim] + range->first + row) * inner + within, count);
        offset += count;
    }
}

std::uint32_t random_16(std::uint64_t key, std::uint64_t place) {
    return static_cast<std::uint32_t>(mixed_bits(key + place / neighbours * golden) >> (16 * (place % neighbours))) &
           0xFFFFU;
}

c10::BFloat16 rounded(float exact, std::uint32_t random) {
    if (!std::isfinite(exact)) return exact;
    const std::uint32_t sum = std::bit_cast<std::uint32_t>(exact) + random;
    return {static_cast<unsigned short>(sum >> 16U), c10::BFloat16::from_bits()};
}

torch::Tensor shifted(const torch::Tensor& x, int by) {
    return x.bitwise_right_shift(by).bitwise_and_((std::int64_t{1} << (64 - by)) - 1);
}

/// mixed_bits() of each number; products of int64 wrap.
torch::Tensor mixed(torch::Tensor x) {
    x = x.bitwise_xor(shifted(x, 30)).mul_(static_cast<std::int64_t>(0xBF58476D1CE4E5B9ULL));
    x = x.bitwise_xor(shifted(x, 27)).mul_(static_cast<std::int64_t>(0x94D049BB133111EBULL));
    return x.bitwise_xor(shifted(x, 31));
}

void round_run(torch::Tensor stored, const torch::Tensor& exact, std::uint64_t key, std::int64_t place) {
    const auto options = torch::dtype(torch::kInt64).device(exact.device());
    const torch::Tensor places = at::arange(place, place + exact.numel(), options);
    const torch::Tensor hash = mixed(
        places.bitwise_right_shift(2).mul_(static_cast<std::int64_t>(golden)).add_(static_cast<std::int64_t>(key)));
    const torch::Tensor random = hash.bitwise_right_shift(places.bitwise_and(3).mul_(16)).bitwise_and_(0xFFFF);
    const torch::Tensor sum =
        exact.view(torch::kInt).to(torch::kInt64).add_(random).bitwise_and_(~std::int64_t{0xFFFF});
    stored.copy_(at::where(exact.isfinite(), sum.to(torch::kInt).view(torch::kFloat), exact));
}

}  // namespace

std::uint64_t RoundingBits::key_of(std::uint64_t seed, const std::string& parameter, std::int64_t step) {
    std::uint64_t key = mixed_bits(seed + golden);
    for (const char c : parameter) key = mixed_bits(key ^ (static_cast<unsigned char>(c) + golden));
    return mixed_bits(key ^ (static_cast<std::uint64_t>(step) + golden));
}

void round_stochastically(torch::Tensor stored, const torch::Tensor& exact, const RoundingBits& bits) {
    if (!on_cpu(stored)) return round_stochastically_by_tensors(std::move(stored), exact, bits);
    if (stored.is_meta()) return;
    auto* const to = stored.mutable_data_ptr<c10::BFloat16>();
    const auto* const from = exact.const_data_ptr<float>();
    for_each_run(bits, exact.numel(), [&](std::int64_t offset, std::int64_t place, std::int64_t count) {
        at::parallel_for(0, count, at::internal::GRAIN_SIZE, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
                to[offset + i] = rounded(from[offset + i], random_16(bits.key, static_cast<std::uint64_t>(place + i)));
            }
        });
    });
}

void round_stochastically_by_tensors(torch::Tensor stored, const torch::Tensor& exact, const RoundingBits& bits) {
    constexpr std::int64_t at_once = 1 << 18;
    for_each_run(bits, exact.numel(), [&](std::int64_t offset, std::int64_t place, std::int64_t count) {
        for (std::int64_t begin = 0; begin < count; begin += at_once) {
            const std::int64_t length = std::min(at_once, count - begin);
            round_run(stored.narrow(0, offset + begin, length), exact.narrow(0, offset + begin, length), bits.key,
                      place + begin);
        }
    });
}

}  // namespace plimsoll::engine
