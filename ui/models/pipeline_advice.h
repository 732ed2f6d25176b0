// SPDX-License-Identifier: GPL-3.0-or-later
// Rules of thumb for a pipeline's shape, with the numbers of this one.
#pragma once

#include <QList>
#include <QString>

#include "core/schedule/advice.h"
#include "ui/models/what_if.h"

namespace plimsoll::ui {

struct Advice {
    QString tone;  ///< "good", "warn"
    QString words;
};

/// The schedule that would shorten the step most, and what it costs; empty where none would by 2 %.
QList<Advice> scheduleAdvice(const std::vector<Alternative>& rows, const Pipeline& shown);

/// Layers a stage, stages, micro-batches beside ranks.
QList<Advice> pipelineAdvice(const WhatIf& tried, const Plan& plan, const Pipeline& shown);

}  // namespace plimsoll::ui
