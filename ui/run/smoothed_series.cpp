// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/run/smoothed_series.h"

#include <cmath>

namespace plimsoll::ui {

void SmoothedSeries::follow(const Pyramid* source, double weight) {
    const std::size_t size = source != nullptr ? source->size() : 0;
    const bool went_back = size < read_ || (read_ > 0 && source->step(read_ - 1) != last_);
    if (weight != weight_ || went_back) {
        *this = SmoothedSeries();
        weight_ = weight;
    }
    for (; read_ < size; ++read_) {
        last_ = source->step(read_);
        const double value = source->value(read_);
        if (!std::isfinite(value)) continue;
        sum_ = weight * sum_ + (1 - weight) * value;
        left_ *= weight;
        smoothed_.append({last_, source->time(read_), sum_ / (1 - left_)});
    }
}

}  // namespace plimsoll::ui
