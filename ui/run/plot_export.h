// SPDX-License-Identifier: GPL-3.0-or-later
// A run's plots as PNG files, for a report or a machine without a display.
#pragma once

#include <QString>
#include <QStringList>

namespace plimsoll::ui {

/// Reads the run to its end and writes one PNG a plot ("loss.png", 1800 x 640 pixels) and "overview.png", a sheet like
/// the Watch page, into `dir` (made when missing). Paths of what has been written, in reading order; the overview
/// comes first. A file that cannot be written, or a run that cannot be read, is missing from the list; `problem`, when
/// given, says why. Needs a QApplication (platform "offscreen" will do), whose theme stays
/// as it is.
QStringList renderPlots(const QString& runPath, const QString& dir, bool dark, QString* problem = nullptr);

}  // namespace plimsoll::ui
