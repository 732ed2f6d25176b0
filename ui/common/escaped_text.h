// SPDX-License-Identifier: GPL-3.0-or-later
// Text of others inside rich text.
#pragma once

#include <QString>
#include <string>

namespace plimsoll::ui {

/// The text with its markup escaped, so that rich text shows it as it is.
inline QString escapedText(const std::string& text) { return QString::fromStdString(text).toHtmlEscaped(); }

}  // namespace plimsoll::ui
