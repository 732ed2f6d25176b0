// SPDX-License-Identifier: GPL-3.0-or-later
// Sentences of the Layout page.
#pragma once

#include <QString>

#include "ui/plan/plan_numbers.h"

namespace plimsoll::ui {

/// "32 GPUs, 4 nodes".
QString hardwareWords(const Plan& plan);
/// "Global batch 256 × 4,096 = 1,048,576 tokens".
QString batchWords(const Plan& plan);
/// "1F1B, 4 stages, 32 micro-batches · bubble 8.6 % (closed form (p−1)/(m+p−1) = 8.57 %)".
QString pipelineWords(const Plan& plan, const PlanNumbers& numbers);
/// Why no timeline is drawn.
QString noTimelineWords(const Plan& plan, const PlanNumbers& numbers);
/// "8 ranks alike · 10 layers · 3,263,901,696 parameters · up to 4 micro-batches in flight".
QString stageWords(const RankMemory& stage);
/// "2.1 GiB per layer and micro-batch".
QString activationWords(const RankMemory& stage);

}  // namespace plimsoll::ui
