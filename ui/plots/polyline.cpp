// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/polyline.h"

#include <algorithm>
#include <cmath>

namespace plimsoll::ui {

std::vector<QPointF> simplified(const std::vector<QPointF>& points, double tolerance) {
    std::vector<QPointF> kept;
    double low = 0, high = 0;
    bool open = false;  // is there a cone?
    for (std::size_t i = 0; i < points.size(); ++i) {
        const QPointF& point = points[i];
        if (open) {
            const QPointF way = point - kept.back();
            const double slope = way.y() / way.x();
            if (way.x() > 0 && slope >= low && slope <= high) {
                low = std::max(low, (way.y() - tolerance) / way.x());
                high = std::min(high, (way.y() + tolerance) / way.x());
                continue;
            }
            if (kept.back() != points[i - 1]) kept.push_back(points[i - 1]);
        }
        const QPointF way = kept.empty() ? QPointF() : point - kept.back();
        open = way.x() > 0 && std::isfinite(way.y());
        low = (way.y() - tolerance) / way.x();
        high = (way.y() + tolerance) / way.x();
        if (!open) kept.push_back(point);
    }
    if (open && !points.empty()) kept.push_back(points.back());
    return kept;
}

}  // namespace plimsoll::ui
