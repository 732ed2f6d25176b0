// SPDX-License-Identifier: GPL-3.0-or-later
// Why an operation of a pipeline starts when it does, in words.
#pragma once

#include <QString>

#include "core/schedule/plan_pipeline/op_cause.h"
#include "core/schedule/plan_pipeline/plan_pipeline.h"

namespace plimsoll::ui {

/// The operation and what it waited for in turn: at most `most` places.
std::vector<OpPlace> chainOf(const Causes& causes, OpPlace place, std::size_t most);
/// Rich text: the operation, its start and end, what it waited for and why, and the waits before that one.
QString whyWords(const Pipeline& pipeline, const Causes& causes, OpPlace place);
/// "12.5": a time in forwards.
QString timeText(double time);

}  // namespace plimsoll::ui
