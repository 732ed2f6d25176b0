// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/plot_content.h"

namespace plimsoll::ui {

std::optional<std::size_t> pointAt(const Pyramid& data, double step) {
    if (data.size() == 0) return std::nullopt;
    const std::size_t index = data.lower_bound(step);
    if (index < data.size() && static_cast<double>(data.step(index)) == step) return index;
    return index == 0 ? 0 : index - 1;
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
