// SPDX-License-Identifier: Apache-2.0
// Whole numbers that never wrap.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <string>

#include "core/base/units.h"

namespace plimsoll {

/// A count of bytes, tokens or parameters, exact up to 2^63 - 1 and held there beyond: a plan of absurd sizes reads as
/// "too large for anything", never as a small or negative number. Counts are not negative.
class Count {
public:
    constexpr Count(std::int64_t value = 0) : value_(value < 0 ? 0 : value) {}
    constexpr std::int64_t value() const { return value_; }

    friend constexpr Count operator+(Count a, Count b) {
        std::int64_t sum = 0;
        return __builtin_add_overflow(a.value_, b.value_, &sum) ? most() : Count(sum);
    }
    friend constexpr Count operator*(Count a, Count b) {
        std::int64_t product = 0;
        return __builtin_mul_overflow(a.value_, b.value_, &product) ? most() : Count(product);
    }
    /// Zero where b is larger.
    friend constexpr Count operator-(Count a, Count b) { return Count(a.value_ - b.value_); }
    constexpr Count& operator+=(Count other) { return *this = *this + other; }
    friend constexpr auto operator<=>(Count, Count) = default;

private:
    static constexpr Count most() { return Count(std::numeric_limits<std::int64_t>::max()); }
    std::int64_t value_;
};

/// The largest of `parts` shares of a count: rounded up, as the rank with the most must fit.
constexpr Count share(Count count, std::int64_t parts) {
    if (parts <= 1) return count;
    const auto whole = count.value() / parts;
    return whole + (count.value() % parts != 0 ? 1 : 0);
}

/// "6,738,415,616".
inline std::string number(Count count) { return format_count(count.value()); }

}  // namespace plimsoll
