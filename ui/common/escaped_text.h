// SPDX-License-Identifier: GPL-3.0-or-later
// Text from outside inside rich text.
#pragma once

#include <QString>
#include <string>

namespace plimsoll::ui {

/// The text with its markup escaped, so that rich text shows it unchanged.
inline QString escapedText(const std::string& text) { return QString::fromStdString(text).toHtmlEscaped(); }

}  // namespace plimsoll::ui
