// SPDX-License-Identifier: GPL-3.0-or-later
// The two palettes, light and dark: every colour of the studio comes from here.
#pragma once

#include <array>
#include <QApplication>
#include <QColor>
#include <QFont>
#include <QPalette>

namespace plimsoll::ui {

struct Theme {
    bool dark = false;
    QColor bg, surface, raised, ink, muted, line, accent, accentInk, water, good, warn;
    std::array<QColor, 6> category;  ///< by plimsoll::Category, colour-blind-safe

    static const Theme& light();
    static const Theme& darkTheme();
    /// The theme that matches the palette's lightness.
    static const Theme& of(const QPalette& palette);
};

/// The colour behind the operations of a rank.
QColor idleColour(const Theme& theme);
/// The colour of hatched areas, which mean idle time.
QColor hatchColour(const Theme& theme);

enum class ThemeChoice { System, Light, Dark };
/// Sets palette, style sheet and font (Inter where present; tabular figures) of the whole application.
void applyTheme(QApplication& app, ThemeChoice choice);
/// The same for one widget and its children; the application stays unchanged.
void applyTheme(QWidget& widget, bool dark);
/// `points` relative to the application font, optionally semi-bold.
QFont uiFont(qreal pointDelta = 0, bool strong = false);

}  // namespace plimsoll::ui
