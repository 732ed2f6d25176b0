// SPDX-License-Identifier: GPL-3.0-or-later
// Text from outside, where Qt would take what looks like HTML for HTML.
#pragma once

#include <QString>
#include <QTextDocument>
#include <string>

namespace plimsoll::ui {

/// The text with its markup escaped, so that rich text shows it unchanged.
inline QString escapedText(const std::string& text) { return QString::fromStdString(text).toHtmlEscaped(); }

/// The text as a tooltip that shows it unchanged: a tooltip guesses the format of its text.
inline QString plainTip(const QString& text) {
    return Qt::mightBeRichText(text) ? Qt::convertFromPlainText(text) : text;
}

}  // namespace plimsoll::ui
