// SPDX-License-Identifier: Apache-2.0
// Settings as on the command line: "layout.dp=4".
#pragma once

#include "core/plan/plan_io.h"

namespace plimsoll {

/// "layout.dp=4" style settings, applied in order. A key that is not known is an error with the nearest name.
/// "model.preset=gpt2" takes the whole model from the preset; "model.preset=" keeps the model and forgets its preset.
Result<Plan> with_settings(const Plan& plan, const std::vector<std::string>& settings);

}  // namespace plimsoll
