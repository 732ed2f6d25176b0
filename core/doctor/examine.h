// SPDX-License-Identifier: Apache-2.0
// What is wrong with a plan or a run.
#pragma once

#include "core/doctor/findings/diagnosis.h"

namespace plimsoll {

/// From the plan alone; lines that need a run's records say so. An impossible plan has its contradictions as findings.
Diagnosis examine_plan(const Plan& plan);

/// From the plan, the records and the end of a run, live or not. Error where the folder's plan or state cannot be read;
/// records that cannot be read leave their lines unjudged.
Result<Diagnosis> examine_run(const RunFolder& run);

}  // namespace plimsoll
