// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/step_axis.h"

#include <algorithm>
#include <cmath>

namespace plimsoll::ui {

namespace {
constexpr double narrowest = 4;  // steps
}

void StepAxis::setRun(double latest, double total) {
    if (latest == latest_ && total == total_) return;
    latest_ = std::max(0.0, latest);
    total_ = std::max(0.0, total);
    const StepRange before = range_;
    if (following_) range_ = followed();
    if (!(range_ == before)) emit changed();
}

StepRange StepAxis::whole() const { return {0, std::max({total_, latest_, narrowest})}; }

StepRange StepAxis::followed() const {
    // Without a planned end the next power of two takes its place: the scale still moves in jumps only.
    const double end = total_ >= latest_ && total_ > 0 ? total_ : std::exp2(std::ceil(std::log2(latest_ + 1)));
    double to = end;
    while (to / 2 >= std::max(latest_, 2 * narrowest)) to /= 2;
    return {0, std::max(to, narrowest)};
}

void StepAxis::show(StepRange range) {
    if (!std::isfinite(range.from) || !std::isfinite(range.to)) return;
    const StepRange all = whole();
    const double width = std::clamp(range.width(), narrowest, all.width());
    if (range.width() != width) {
        const double middle = (range.from + range.to) / 2;
        range = {middle - width / 2, middle + width / 2};
    }
    if (range.from < all.from) range = panned(range, all.from - range.from);
    if (range.to > all.to) range = panned(range, all.to - range.to);
    if (range == range_ && !following_) return;
    following_ = false;
    range_ = range;
    emit changed();
}

StepRange StepAxis::zoomed(StepRange range, double factor, double at) {
    factor = std::max(factor, narrowest / std::max(range.width(), narrowest));
    return {at - (at - range.from) * factor, at + (range.to - at) * factor};
}

void StepAxis::follow() {
    if (following_) return;
    following_ = true;
    range_ = followed();
    emit changed();
}

void StepAxis::reveal(double step) {
    if (step < range_.from || step > range_.to) show({step - range_.width() / 2, step + range_.width() / 2});
    setCursor(step);
}

void StepAxis::setCursor(std::optional<double> step) {
    if (step == cursor_) return;
    cursor_ = step;
    emit cursorChanged();
}

}  // namespace plimsoll::ui
