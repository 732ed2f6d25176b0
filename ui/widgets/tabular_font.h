// SPDX-License-Identifier: GPL-3.0-or-later
// Inter with figures of one width. Qt 6.4 cannot switch a font feature on, so the copy in memory has it always on.
#pragma once

#include <QByteArray>
#include <QString>

namespace plimsoll::ui {

/// Loads Inter from the system's font folders, its figures tabular. Gives the family to use, or "" where Inter is not
/// installed.
QString loadTabularInter();

/// The font file with the feature "tnum" made one that every shaper applies ("rlig"), under a family name of its own.
/// Empty when the file is not a font that has the feature.
QByteArray withTabularFigures(QByteArray font, const QString& family, const QString& newFamily);

}  // namespace plimsoll::ui
