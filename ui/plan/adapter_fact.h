// SPDX-License-Identifier: GPL-3.0-or-later
// One sentence about a plan's adapters.
#pragma once

#include <QString>

#include "core/plan/plan.h"

namespace plimsoll::ui {

/// "4.2M of 6.74B train (0.06 %)", or that all weights train.
QString adapterFact(const Plan& plan);

}  // namespace plimsoll::ui
