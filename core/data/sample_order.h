// SPDX-License-Identifier: Apache-2.0
// Which training sequence comes when.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace plimsoll {

/// Order in which training sequences are visited: a seeded permutation an epoch over windows of sequence_length + 1
/// bytes (the targets are the inputs shifted by one) that start sequence_length apart. The same on every machine and
/// for every world size, so that rank r of n takes entries r, r + n, … of each global batch. Not for several threads.
class SampleOrder {
public:
    /// train_size has to be above sequence_length (load_corpus sees to it).
    SampleOrder(std::size_t train_size, std::int64_t sequence_length, std::uint64_t seed);
    std::size_t samples_per_epoch() const { return samples_; }
    /// Byte offset of the global sample number `index` (epochs follow one another).
    std::size_t offset(std::uint64_t index) const;

private:
    std::size_t samples_ = 0;
    std::int64_t sequence_length_ = 0;
    std::uint64_t seed_ = 0;
    mutable std::uint64_t epoch_ = ~std::uint64_t{0};
    mutable std::vector<std::uint32_t> order_;
};

}  // namespace plimsoll
