// SPDX-License-Identifier: Apache-2.0
#include "core/engine/ranks/shared_memory/reduce_numbers.h"

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>

namespace plimsoll::engine {

namespace {

template <class T>
using Accumulator = std::conditional_t<std::is_same_v<T, double>, double,
                                       std::conditional_t<std::is_integral_v<T>, std::int64_t, float>>;

/// In blocks that stay in the nearest cache, through an array that the compiler knows to be apart from all else.
template <class T, class Combine>
void reduce(std::byte* out, const std::vector<const std::byte*>& sources, std::size_t count, const Combine& combine) {
    constexpr std::size_t block = 1024;
    std::array<Accumulator<T>, block> sums;
    for (std::size_t begin = 0; begin < count; begin += block) {
        const std::size_t length = std::min(block, count - begin);
        const auto* first = reinterpret_cast<const T*>(sources[0]) + begin;
        const auto* second = reinterpret_cast<const T*>(sources[1]) + begin;
        for (std::size_t i = 0; i < length; ++i) {
            sums[i] = combine(static_cast<Accumulator<T>>(first[i]), static_cast<Accumulator<T>>(second[i]));
        }
        for (std::size_t s = 2; s < sources.size(); ++s) {
            const auto* next = reinterpret_cast<const T*>(sources[s]) + begin;
            for (std::size_t i = 0; i < length; ++i) {
                sums[i] = combine(sums[i], static_cast<Accumulator<T>>(next[i]));
            }
        }
        auto* result = reinterpret_cast<T*>(out) + begin;
        for (std::size_t i = 0; i < length; ++i) result[i] = static_cast<T>(sums[i]);
    }
}

template <class T>
void reduce_as(Reduction reduction, std::byte* out, const std::vector<const std::byte*>& sources, std::size_t count) {
    using A = Accumulator<T>;
    if (reduction == Reduction::Sum) {
        reduce<T>(out, sources, count, [](A a, A b) { return a + b; });
    } else {
        reduce<T>(out, sources, count, [](A a, A b) { return b > a || b != b ? b : a; });
    }
}

}  // namespace

bool can_reduce(c10::ScalarType dtype) {
    switch (dtype) {
        case c10::kDouble:
        case c10::kFloat:
        case c10::kBFloat16:
        case c10::kHalf:
        case c10::kLong:
        case c10::kInt:
        case c10::kChar:
        case c10::kByte:
            return true;
        default:
            return false;
    }
}

void reduce_numbers(Reduction reduction, c10::ScalarType dtype, std::byte* out,
                    const std::vector<const std::byte*>& sources, std::size_t count) {
    switch (dtype) {
        case c10::kDouble:
            return reduce_as<double>(reduction, out, sources, count);
        case c10::kFloat:
            return reduce_as<float>(reduction, out, sources, count);
        case c10::kBFloat16:
            return reduce_as<c10::BFloat16>(reduction, out, sources, count);
        case c10::kHalf:
            return reduce_as<c10::Half>(reduction, out, sources, count);
        case c10::kLong:
            return reduce_as<std::int64_t>(reduction, out, sources, count);
        case c10::kInt:
            return reduce_as<std::int32_t>(reduction, out, sources, count);
        case c10::kChar:
            return reduce_as<std::int8_t>(reduction, out, sources, count);
        default:
            return reduce_as<std::uint8_t>(reduction, out, sources, count);
    }
}

}  // namespace plimsoll::engine
