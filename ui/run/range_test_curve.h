// SPDX-License-Identifier: GPL-3.0-or-later
// The loss over the learning rate of a range test, to draw.
#pragma once

#include <optional>
#include <QPolygonF>
#include <QString>

#include "core/plan/plan.h"
#include "core/telemetry/series_store.h"

namespace plimsoll::ui {

struct RangeTestCurve {
    QPolygonF points;  ///< log10 of the rate, smoothed loss
    QString top, bottom, start, end;
    QString words;  ///< "take 3e−3: fell fastest at 5e−3, lowest at 3e−2"
};
/// Of what is recorded so far; nothing for a run that tests no range, or before there are points.
std::optional<RangeTestCurve> rangeTestCurve(const Plan& plan, const SeriesStore& series);

}  // namespace plimsoll::ui
