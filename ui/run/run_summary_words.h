// SPDX-License-Identifier: GPL-3.0-or-later
// A run's line in a list, in words.
#pragma once

#include <QString>

#include "core/run/run_summary.h"

namespace plimsoll::ui {

/// "finished, started 01.12.26 09:14": the line under a run's name.
QString summaryStatus(const RunSummary& run);
/// "300 of 300"; "" before the first step.
QString summarySteps(const RunSummary& run);
/// "2.614"; "" where none is recorded.
QString summaryLoss(const RunSummary& run);
/// "llama-tiny on 2 CPU ranks"; "" where the plan cannot be read.
QString summaryPlan(const RunSummary& run);
/// "bf16"; "" where the plan cannot be read.
QString summaryPrecision(const RunSummary& run);
/// What sets the plan apart from that of an earlier run: "Learning rate 0.0003, Micro-batch 4", three fields at most,
/// then how many more; "" where nothing but names and folders differs.
QString changesBetween(const Plan& earlier, const Plan& later);

}  // namespace plimsoll::ui
