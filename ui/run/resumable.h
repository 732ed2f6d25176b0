// SPDX-License-Identifier: GPL-3.0-or-later
// Which ended runs can go on, and why not.
#pragma once

#include <QString>

#include "core/run/run_summary.h"

namespace plimsoll::ui {

class RunModel;

/// The run that is watched, as lists hold it.
RunSummary summaryOf(const RunModel& run);

/// The run has ended before its last planned step and nobody trains it.
bool canResume(const RunSummary& run);
/// The run has ended: it can get more steps.
bool canExtend(const RunSummary& run);
/// What a resume does, or why there is none, in a sentence.
QString whyResumable(const RunSummary& run);

}  // namespace plimsoll::ui
