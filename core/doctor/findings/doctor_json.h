// SPDX-License-Identifier: Apache-2.0
// A diagnosis as JSON.
#pragma once

#include "core/doctor/findings/diagnosis.h"

namespace plimsoll {

Json to_json(const Diagnosis& diagnosis);

}  // namespace plimsoll
