// SPDX-License-Identifier: GPL-3.0-or-later
// The style sheet of the studio, filled with a palette's colours.
#pragma once

#include <QString>

#include "ui/widgets/theme.h"

namespace plimsoll::ui {

/// Dynamic properties it knows: tone = muted | good | bad | warn | accent, strong, primary, danger, quiet, invalid.
QString styleSheet(const Theme& theme);

/// `share` of `top` over `base`.
QColor mixed(const QColor& base, const QColor& top, qreal share);

}  // namespace plimsoll::ui
