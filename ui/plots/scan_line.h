// SPDX-License-Identifier: GPL-3.0-or-later
// Draws a dense line as one vertical span per pixel column: a hundredth of the cost of a stroked path, and exact.
#pragma once

#include <QImage>
#include <vector>

#include "core/telemetry/pyramid.h"
#include "ui/plots/value_axis.h"

namespace plimsoll::ui {

/// `image` (ARGB32_Premultiplied) gets the line of `columns`, one per pixel column from its left edge on; `axis` maps
/// values to its height. `width` is the line's thickness in image pixels. A stepped line holds its value up to the
/// next point; the others go straight. A column that holds NaN and nothing finite interrupts the line.
void drawColumns(QImage& image, const std::vector<Column>& columns, const ValueAxis& axis, QRgb colour, double width,
                 bool stepped);

}  // namespace plimsoll::ui
