// SPDX-License-Identifier: GPL-3.0-or-later
// The time of a step by part, in figures and words.
#pragma once

#include <QList>
#include <QString>

#include "core/step_time/step_time.h"

namespace plimsoll::ui {

QString timePartName(TimePart part);

struct TimeShare {
    TimePart part = TimePart::Rest;
    Seconds seconds = 0;
    double share = 0;  ///< of the step
};
/// The parts that take any time, in the order of TimePart.
QList<TimeShare> timeShares(const StepTime& time);

/// "6.42 s".
QString secondsText(Seconds seconds);
/// Rich text: every part with seconds and share, the largest first.
QString timeDetails(const StepTime& time);
/// Rich text: "step <b>6.42 s</b> · <b>163 k</b> tokens/s · MFU <b>44.1 %</b>".
QString stepWords(const StepReport& report);
/// "163 k tokens/s · MFU 44.1 % · HFU 52.0 %".
QString stepFact(const StepReport& report);
/// Rich text: the step, its time by part, and the rates that it is computed from.
QString stepDetails(const StepReport& report);

}  // namespace plimsoll::ui
