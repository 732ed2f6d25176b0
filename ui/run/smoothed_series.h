// SPDX-License-Identifier: GPL-3.0-or-later
// A series smoothed by an exponential moving average, point by point as it grows.
#pragma once

#include "core/telemetry/pyramid.h"

namespace plimsoll::ui {

class SmoothedSeries {
public:
    /// Takes over what is new of `source` (null: nothing is shown). `weight` of the past, 0 to below 1; the average is
    /// without bias to its start (Kingma & Ba 2015, section 3). Another weight, or a source that went back, is
    /// smoothed anew. Values that are not finite are left out.
    void follow(const Pyramid* source, double weight);
    /// Null where there is nothing to show.
    const Pyramid* data() const { return smoothed_.size() > 0 ? &smoothed_ : nullptr; }

private:
    Pyramid smoothed_;
    std::size_t read_ = 0;    ///< points of the source
    std::uint64_t last_ = 0;  ///< step of the last of them
    double weight_ = -1;
    double sum_ = 0, left_ = 1;  ///< the biased average, and what the weights lack of 1
};

}  // namespace plimsoll::ui
