// SPDX-License-Identifier: Apache-2.0
#include "core/telemetry/pyramid.h"

#include <algorithm>
#include <cmath>

namespace plimsoll {

void Pyramid::add(Bucket& bucket, double value) {
    if (std::isfinite(value)) {
        bucket.min = std::min(bucket.min, value);
        bucket.max = std::max(bucket.max, value);
    } else if (std::isnan(value)) {
        bucket.has_nan = true;
    } else {
        bucket.has_inf = true;
    }
}

void Pyramid::add(Bucket& bucket, const Bucket& other) {
    bucket.min = std::min(bucket.min, other.min);
    bucket.max = std::max(bucket.max, other.max);
    bucket.has_nan |= other.has_nan;
    bucket.has_inf |= other.has_inf;
}

void Pyramid::append(const Point& point) {
    if (!steps_.empty() && point.step < steps_.back()) truncate_from(point.step);
    std::size_t index = steps_.size();
    steps_.push_back(point.step);
    values_.push_back(point.value);
    times_.push_back(point.time);
    for (std::vector<Bucket>& level : levels_) {
        index /= base;
        if (index == level.size()) level.emplace_back();
        add(level[index], point.value);
    }
}

void Pyramid::truncate_from(std::uint64_t step) {
    const auto cut = std::lower_bound(steps_.begin(), steps_.end(), step) - steps_.begin();
    std::size_t size = static_cast<std::size_t>(cut);
    if (size == steps_.size()) return;
    steps_.resize(size);
    values_.resize(size);
    times_.resize(size);
    // The last bucket of each level may hold points that are gone: it is summed up anew from the level below.
    for (std::size_t k = 0; k < levels_.size(); ++k) {
        const std::size_t below = size;
        size = (size + base - 1) / base;
        levels_[k].resize(size);
        if (below % base == 0) continue;
        levels_[k].back() = Bucket{};
        for (std::size_t i = (size - 1) * base; i < below; ++i) {
            if (k == 0)
                add(levels_[k].back(), values_[i]);
            else
                add(levels_[k].back(), levels_[k - 1][i]);
        }
    }
}

std::size_t Pyramid::lower_bound(double step) const {
    const auto at = std::lower_bound(steps_.begin(), steps_.end(), step, [](std::uint64_t held, double wanted) {
        return static_cast<double>(held) < wanted;
    });
    return static_cast<std::size_t>(at - steps_.begin());
}

std::vector<Column> Pyramid::query(double from, double to, std::size_t count) const {
    std::vector<Column> columns(count);
    if (!(from < to) || !std::isfinite(from) || !std::isfinite(to) || steps_.empty()) return columns;
    const auto below = [](std::uint64_t held, double wanted) { return static_cast<double>(held) < wanted; };
    auto begin = steps_.begin() + static_cast<std::ptrdiff_t>(lower_bound(from));
    for (std::size_t i = 0; i < count && begin != steps_.end(); ++i) {
        const double edge =
            i + 1 == count ? to : from + (to - from) * (static_cast<double>(i + 1) / static_cast<double>(count));
        const auto end = std::lower_bound(begin, steps_.end(), edge, below);
        if (begin != end) {
            columns[i] = summarise(static_cast<std::size_t>(begin - steps_.begin()),
                                   static_cast<std::size_t>(end - steps_.begin()));
        }
        begin = end;
    }
    return columns;
}

Column Pyramid::summarise(std::size_t begin, std::size_t end) const {
    Bucket sum;
    // Runs of samples that hold the first and the last finite value.
    std::size_t first = 0, first_size = 0, last = 0, last_size = 0;
    const auto take = [&](std::size_t at, std::size_t size, const Bucket& part) {
        add(sum, part);
        if (part.min > part.max) return;
        if (first_size == 0) first = at, first_size = size;
        last = at, last_size = size;
    };
    for (std::size_t i = begin; i < end;) {
        if (i % base != 0 || i + base > end) {
            const std::size_t stop = std::min(end, i - i % base + base);
            for (; i < stop; ++i) {
                const double value = values_[i];
                add(sum, value);
                if (!std::isfinite(value)) continue;
                if (first_size == 0) first = i, first_size = 1;
                last = i, last_size = 1;
            }
            continue;
        }
        std::size_t size = base;
        std::size_t level = 0;
        while (level + 1 < levels_.size() && i % (size * base) == 0 && i + size * base <= end) {
            size *= base;
            ++level;
        }
        take(i, size, levels_[level][i / size]);
        i += size;
    }
    Column column;
    column.empty = false;
    column.has_nan = sum.has_nan;
    column.has_inf = sum.has_inf;
    if (first_size == 0) return column;
    column.min = sum.min;
    column.max = sum.max;
    column.first = values_[finite_in(first, first_size, false)];
    column.last = values_[finite_in(last, last_size, true)];
    return column;
}

std::size_t Pyramid::finite_in(std::size_t begin, std::size_t size, bool from_behind) const {
    while (size > 1) {
        size /= base;
        std::size_t level = 0;
        for (std::size_t s = size; s > 1; s /= base) ++level;
        for (std::size_t k = 0; k < base; ++k) {
            const std::size_t i = begin + (from_behind ? base - 1 - k : k) * size;
            const bool finite = level == 0 ? std::isfinite(values_[i])
                                           : levels_[level - 1][i / size].min <= levels_[level - 1][i / size].max;
            if (!finite) continue;
            begin = i;
            break;
        }
    }
    return begin;
}

}  // namespace plimsoll
