// SPDX-License-Identifier: Apache-2.0
// What is wrong with a plan or a run.
#pragma once

#include "core/doctor/findings/diagnosis.h"

namespace plimsoll {

/// Examines the plan alone; checklist lines that need a run's records say so. The contradictions of an impossible plan
/// become findings.
Diagnosis examine_plan(const Plan& plan);

/// Examines the plan, the records and the end of a run, live or not. Error where the folder's plan or state cannot be
/// read; unreadable records leave their checklist lines unjudged.
Result<Diagnosis> examine_run(const RunFolder& run);

}  // namespace plimsoll
