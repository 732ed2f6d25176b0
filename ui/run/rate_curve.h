// SPDX-License-Identifier: GPL-3.0-or-later
// The planned learning rate over the run, to draw.
#pragma once

#include <QPolygonF>
#include <QString>

#include "core/plan/plan.h"

namespace plimsoll::ui {

struct RateCurve {
    QPolygonF points;  ///< step, rate
    QString top, bottom, start, end;
    QString words;  ///< "warmup 2,000 of 20,000 steps, then to 3e−5"
};
RateCurve rateCurve(const Plan& plan);

}  // namespace plimsoll::ui
