// SPDX-License-Identifier: Apache-2.0
// A diagnosis as text: findings with evidence and changes, then the checklist.
#pragma once

#include <string>

#include "core/doctor/findings/diagnosis.h"

namespace plimsoll::cli {

/// `what` names the plan or the run.
std::string doctor_report(const Diagnosis& diagnosis, const std::string& what);

}  // namespace plimsoll::cli
