// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/plot_content.h"

#include <cmath>
#include <limits>

namespace plimsoll::ui {

std::optional<std::size_t> pointAt(const Pyramid& data, double step) {
    if (data.size() == 0) return std::nullopt;
    // Of several points of one step (an fp16 overflow repeats a step) the last one counts.
    const std::size_t after = data.lower_bound(std::nextafter(step, std::numeric_limits<double>::infinity()));
    return after == 0 ? 0 : after - 1;
}

std::optional<double> nearestStep(const Pyramid& data, double step) {
    if (data.size() == 0) return std::nullopt;
    const std::size_t index = data.lower_bound(step);
    if (index == 0) return static_cast<double>(data.step(0));
    const auto before = static_cast<double>(data.step(index - 1));
    if (index == data.size()) return before;
    const auto after = static_cast<double>(data.step(index));
    return step - before <= after - step ? before : after;
}

}  // namespace plimsoll::ui
