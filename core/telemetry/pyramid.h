// SPDX-License-Identifier: Apache-2.0
// Min/max pyramid over one series: any zoom in a fraction of a millisecond, no spike ever hidden.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/telemetry/record.h"

namespace plimsoll {

/// What one pixel column shows: M4 (first, last, min, max; Jugel 2014), exact for a line plot; plus whether it holds
/// NaN or Inf.
struct Column {
    bool empty = true;  ///< no point at all
    /// Finite values only; has_finite() tells whether there is one.
    double first = 0, last = 0;
    double min = std::numeric_limits<double>::infinity(), max = -std::numeric_limits<double>::infinity();
    bool has_nan = false;
    bool has_inf = false;
    bool has_finite() const { return min <= max; }
};

/// Append-only. Steps must not fall, except that a fork (resume from an earlier checkpoint) cuts off what it takes
/// back: append() does so by itself. Equal steps are kept. Bucket edges sit at absolute sample numbers, base 16, so a
/// live line does not wiggle.
class Pyramid {
public:
    void append(const Point& point);
    void truncate_from(std::uint64_t step);  ///< forgets points at and after `step`

    std::size_t size() const { return steps_.size(); }
    std::uint64_t step(std::size_t index) const { return steps_[index]; }
    double value(std::size_t index) const { return values_[index]; }
    double time(std::size_t index) const { return times_[index]; }
    /// Index of the first point at or after `step`.
    std::size_t lower_bound(double step) const;

    /// Columns for the step range [from, to), split evenly into `count`.
    std::vector<Column> query(double from, double to, std::size_t count) const;

private:
    struct Bucket {
        double min = std::numeric_limits<double>::infinity();  ///< of finite values; min > max when there is none
        double max = -std::numeric_limits<double>::infinity();
        bool has_nan = false, has_inf = false;
    };
    static constexpr std::size_t base = 16;

    static void add(Bucket& bucket, double value);
    static void add(Bucket& bucket, const Bucket& other);
    Column summarise(std::size_t begin, std::size_t end) const;
    /// Index of the first (or last) finite value of an aligned run of `size` samples that holds one.
    std::size_t finite_in(std::size_t begin, std::size_t size, bool from_behind) const;

    std::vector<std::uint64_t> steps_;
    std::vector<double> values_;
    std::vector<double> times_;
    std::array<std::vector<Bucket>, 7> levels_;  ///< level k summarises base^(k+1) samples: 2.7e8 in the last
};

}  // namespace plimsoll
