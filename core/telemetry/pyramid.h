// SPDX-License-Identifier: Apache-2.0
// Min/max pyramid over one series: any zoom in a fraction of a millisecond, no spike ever hidden.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/telemetry/record.h"

namespace plimsoll {

/// What one pixel column shows: M4 (first, last, min, max), exact for a line plot; plus whether it holds NaN or Inf.
struct Column {
    bool empty = true;
    double first = 0, last = 0, min = 0, max = 0;  ///< finite values only
    bool has_nan = false;
    bool has_inf = false;
};

/// Append-only. Steps must not fall, except that a fork (resume from an earlier checkpoint) is cut off first with
/// truncate_from(). Bucket edges sit at absolute sample numbers, base 16, so a live line does not wiggle.
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
        double min, max;  ///< of finite values; min > max when there is none
        bool has_nan, has_inf;
    };
    static constexpr std::size_t base = 16;
    void summarise(Column& column, std::size_t begin, std::size_t end) const;

    std::vector<std::uint64_t> steps_;
    std::vector<double> values_;
    std::vector<double> times_;
    std::vector<std::vector<Bucket>> levels_;  ///< level k summarises base^(k+1) samples
};

}  // namespace plimsoll
