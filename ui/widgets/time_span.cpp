// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/time_span.h"

#include <algorithm>

namespace plimsoll::ui {

namespace {

constexpr double narrowest = 1.0 / 2000;  // of the whole

}  // namespace

void TimeSpan::setWhole(double whole) {
    if (!(whole > 0)) whole = 1;
    if (whole == whole_) return;
    const bool all = isWhole();
    whole_ = whole;
    if (all)
        showWhole();
    else
        show(from_, to_);
}

void TimeSpan::zoom(double factor, double at) { show(at - (at - from_) * factor, at + (to_ - at) * factor); }

void TimeSpan::pan(double by) {
    by = std::clamp(by, -from_, whole_ - to_);
    show(from_ + by, to_ + by);
}

void TimeSpan::show(double from, double to) {
    const double width = std::clamp(to - from, whole_ * narrowest, whole_);
    from = std::clamp(from, 0.0, whole_ - width);
    if (from == from_ && from + width == to_) return;
    from_ = from;
    to_ = from + width;
    emit changed();
}

}  // namespace plimsoll::ui
