// SPDX-License-Identifier: GPL-3.0-or-later
// Inter with figures of one width. Qt 6.4 cannot switch a font feature on, so the feature is always on in the copy in
// memory.
#pragma once

#include <QByteArray>
#include <QString>

namespace plimsoll::ui {

/// Loads Inter from the system's font folders, its figures tabular. Gives the family to use, or "" where Inter is not
/// installed.
QString loadTabularInter();

/// The font file with the feature "tnum" renamed to one that every shaper applies ("rlig"), under another family name.
/// Empty when the file is no font with that feature.
QByteArray withTabularFigures(QByteArray font, const QString& family, const QString& newFamily);

}  // namespace plimsoll::ui
