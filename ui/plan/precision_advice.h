// SPDX-License-Identifier: GPL-3.0-or-later
// One sentence about a plan's precision.
#pragma once

#include <QString>

#include "core/plan/plan.h"

namespace plimsoll::ui {

/// "bf16 needs no loss scaling", or bf16 recommended where the GPU has it and the plan takes fp16; empty else.
QString precisionAdvice(const Plan& plan);

}  // namespace plimsoll::ui
