// SPDX-License-Identifier: Apache-2.0
// A plan with the changes of its findings.
#pragma once

#include "core/doctor/findings/diagnosis.h"

namespace plimsoll {

AppliedChanges with_first_changes(const Plan& plan, const Diagnosis& diagnosis);

}  // namespace plimsoll
