// SPDX-License-Identifier: GPL-3.0-or-later
// The reason why an operation of a pipeline starts when it does, in words.
#pragma once

#include <QString>

#include "core/schedule/plan_pipeline/op_cause.h"
#include "core/schedule/plan_pipeline/plan_pipeline.h"

namespace plimsoll::ui {

/// The operation, the one that it waited for, and so on: at most `most` places.
std::vector<OpPlace> chainOf(const Causes& causes, OpPlace place, std::size_t most);
/// Rich text: the operation, its start and end, the operation that it waited for and why, and the waits before that.
QString whyWords(const Pipeline& pipeline, const Causes& causes, OpPlace place);
/// "12.5": a time in forwards.
QString timeText(double time);

}  // namespace plimsoll::ui
