// SPDX-License-Identifier: GPL-3.0-or-later
// Which fields of a plan have an effect.
#pragma once

#include <QString>

#include "core/plan/plan.h"

namespace plimsoll::ui {

/// False for a field without meaning under the rest of the plan, such as the momentum of AdamW. A set field that the
/// plan's checks refuse counts as used, so that the person can correct it.
bool isUsed(const QString& key, const Plan& plan);

}  // namespace plimsoll::ui
