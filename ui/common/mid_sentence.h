// SPDX-License-Identifier: GPL-3.0-or-later
// A title within a sentence: its first letter becomes small, but "TP" and "CUDA" stay as they are.
#pragma once

#include <QString>

namespace plimsoll::ui {

inline QString midSentence(const QString& title) {
    const bool abbreviation = title.size() > 1 && title[1].isUpper();
    return abbreviation || title.isEmpty() ? title : title.left(1).toLower() + title.mid(1);
}

}  // namespace plimsoll::ui
