// SPDX-License-Identifier: GPL-3.0-or-later
// The rows of a Gantt chart as a picture: operations narrower than a pixel are merged by column.
#pragma once

#include <array>
#include <QImage>

#include "core/schedule/plan_pipeline/plan_pipeline.h"
#include "ui/widgets/theme.h"

namespace plimsoll::ui {

/// Places of the drawing; lengths without the screen's pixel ratio.
struct GanttFrame {
    double width = 1;         ///< width of the rows
    double pitch = 31;        ///< from row to row
    double gap = 4;           ///< between rows
    double from = 0, to = 1;  ///< time at the left and the right end
    double ratio = 1;         ///< screen pixels a unit of length
    double xOf(double time) const { return width * (time - from) / (to - from); }
};

inline constexpr int ganttShades = 4;
/// Forward, backward (whole or of the input), weight backward; by micro-batch, the last shade is the full colour.
using GanttColours = std::array<std::array<QColor, ganttShades>, 3>;
GanttColours ganttColours(const Theme& theme);
std::size_t ganttColourOf(OpKind kind);
/// The stripe of operations of chunks above 0.
QColor chunkColour(const Theme& theme);

QImage drawGanttRows(const Timeline& timeline, const GanttFrame& frame, const Theme& theme);

}  // namespace plimsoll::ui
