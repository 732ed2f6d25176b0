// SPDX-License-Identifier: Apache-2.0
#include "core/data/sample_order.h"

#include <algorithm>
#include <numeric>

namespace plimsoll {

namespace {

/// SplitMix64 (Steele, Lea, Flood 2014). Written out, because the standard's distributions and std::shuffle differ
/// between libraries and the order has to be the same everywhere.
class SplitMix64 {
public:
    explicit SplitMix64(std::uint64_t state) : state_(state) {}

    std::uint64_t next() {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
        z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31U);
    }

    /// Uniform in [0, n): draws below 2^64 mod n are thrown away, so that no remainder is favoured.
    std::uint64_t below(std::uint64_t n) {
        const std::uint64_t favoured = (0 - n) % n;
        std::uint64_t draw = next();
        while (draw < favoured) draw = next();
        return draw % n;
    }

private:
    std::uint64_t state_;
};

/// Fisher-Yates.
void shuffle(std::vector<std::uint32_t>& order, SplitMix64 random) {
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
}

}  // namespace

SampleOrder::SampleOrder(std::size_t train_size, std::int64_t sequence_length, std::uint64_t seed)
    : sequence_length_(std::max<std::int64_t>(sequence_length, 1)), seed_(seed) {
    if (train_size > 0) samples_ = (train_size - 1) / static_cast<std::size_t>(sequence_length_);
}

std::size_t SampleOrder::offset(std::uint64_t index) const {
    if (samples_ == 0) return 0;
    const std::uint64_t epoch = index / samples_;
    if (epoch != epoch_) {
        order_.resize(samples_);
        std::iota(order_.begin(), order_.end(), std::uint32_t{0});
        // Mixed twice: neighbouring seeds and neighbouring epochs must not share a stream.
        shuffle(order_, SplitMix64(SplitMix64(SplitMix64(seed_).next() + epoch).next()));
        epoch_ = epoch;
    }
    return order_[index % samples_] * static_cast<std::size_t>(sequence_length_);
}

}  // namespace plimsoll
