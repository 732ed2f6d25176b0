// SPDX-License-Identifier: GPL-3.0-or-later
// The figures of every schedule on the same shape.
#pragma once

#include <QStringList>

#include "core/schedule/plan_pipeline/advice.h"
#include "ui/common/text_table.h"
#include "ui/pipeline/what_if.h"

namespace plimsoll::ui {

Alternative alternativeOf(Schedule schedule, WhatIf tried, const Plan& plan);
QStringList scheduleHeaders();
/// Rows that compare each schedule with the shown one: "−8.5 %" of the step.
QList<TextRow> scheduleTextRows(const std::vector<Alternative>& rows, Schedule shown);

}  // namespace plimsoll::ui
