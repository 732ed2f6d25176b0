// SPDX-License-Identifier: GPL-3.0-or-later
// Which fields say something in a plan as it stands.
#pragma once

#include <QString>

#include "core/plan/plan.h"

namespace plimsoll::ui {

/// False for a field that the rest of the plan leaves without meaning, such as the momentum of AdamW. A field that
/// the plan's checks refuse there counts while it is set, so that it can be put right.
bool isUsed(const QString& key, const Plan& plan);

}  // namespace plimsoll::ui
