// SPDX-License-Identifier: GPL-3.0-or-later
// Reduces the points of a line, whose shape stays within a tolerance.
#pragma once

#include <QPointF>
#include <vector>

namespace plimsoll::ui {

/// Leaves out points that lie within `tolerance` (vertically) of the line between those kept: a cone from the last kept
/// point narrows with each point until one falls out of it. Points at the same x and NaN are all kept.
std::vector<QPointF> simplified(const std::vector<QPointF>& points, double tolerance);

}  // namespace plimsoll::ui
