// SPDX-License-Identifier: Apache-2.0
// The output of `plimsoll pipeline`.
#pragma once

#include <string>

#include "core/base/json.h"
#include "core/plan/plan.h"
#include "core/schedule/plan_pipeline/plan_pipeline.h"

namespace plimsoll::cli {

/// Headline, a line a rank, the other schedules, advice.
std::string pipeline_report(const Plan& plan, const Pipeline& pipeline);
/// The same and every operation: ranks[].ops[] with kind, micro_batch, chunk, stage, start, end.
Json pipeline_json(const Plan& plan, const Pipeline& pipeline);

}  // namespace plimsoll::cli
