// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/theme.h"

#include <QStyleFactory>
#include <QToolTip>

#include "ui/widgets/style_sheet.h"
#include "ui/widgets/tabular_font.h"

namespace plimsoll::ui {

namespace {

QPalette paletteOf(const Theme& t) {
    QPalette palette;
    const auto set = [&palette](QPalette::ColorRole role, const QColor& colour) {
        palette.setColor(QPalette::All, role, colour);
    };
    set(QPalette::Window, t.bg);
    set(QPalette::WindowText, t.ink);
    set(QPalette::Base, t.surface);
    set(QPalette::AlternateBase, t.raised);
    set(QPalette::Text, t.ink);
    set(QPalette::PlaceholderText, t.muted);
    set(QPalette::Button, t.raised);
    set(QPalette::ButtonText, t.ink);
    set(QPalette::BrightText, t.water);
    set(QPalette::ToolTipBase, t.surface);
    set(QPalette::ToolTipText, t.ink);
    set(QPalette::Highlight, t.accent);
    set(QPalette::HighlightedText, t.accentInk);
    set(QPalette::Link, t.accent);
    set(QPalette::LinkVisited, t.accent);
    set(QPalette::Mid, t.line);
    set(QPalette::Midlight, t.line);
    set(QPalette::Dark, t.line);
    for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
        palette.setColor(QPalette::Disabled, role, mixed(t.surface, t.muted, 0.6));
    return palette;
}

QFont applicationFont() {
    const QString tabular = loadTabularInter();
    QFont font(tabular.isEmpty() ? QStringLiteral("Inter") : tabular);
    // Where Inter is missing: similar fonts with figures of one width.
    if (tabular.isEmpty())
        font.setFamilies({QStringLiteral("Noto Sans"), QStringLiteral("DejaVu Sans"), QStringLiteral("sans-serif")});
    font.setPointSizeF(9.75);  // 13 px at 96 dpi, larger where the desktop asks for larger text
    return font;
}

}  // namespace

const Theme& Theme::light() {
    static const Theme theme{
        false,
        QColor(0xf5f7f9),
        QColor(0xffffff),
        QColor(0xfbfcfd),
        QColor(0x17212b),
        QColor(0x5b6875),
        QColor(0xdde3e9),
        QColor(0x0b6e99),
        QColor(0xffffff),
        QColor(0xc8374a),
        QColor(0x2a7d4f),
        QColor(0xa86400),
        {QColor(0x0072b2), QColor(0xe69f00), QColor(0x009e73), QColor(0xcc79a7), QColor(0x56b4e9), QColor(0x8a939c)}};
    return theme;
}

const Theme& Theme::darkTheme() {
    static const Theme theme{
        true,
        QColor(0x11161b),
        QColor(0x192027),
        QColor(0x1e262e),
        QColor(0xe5ebf0),
        QColor(0x93a1ae),
        QColor(0x2b353f),
        QColor(0x4db3dd),
        QColor(0x0c1419),
        QColor(0xff6b7c),
        QColor(0x5fc08c),
        QColor(0xe3a94d),
        {QColor(0x4aa3dd), QColor(0xf0b840), QColor(0x38c49a), QColor(0xe093c0), QColor(0x8fd0f5), QColor(0x7c8792)}};
    return theme;
}

const Theme& Theme::of(const QPalette& palette) {
    return palette.color(QPalette::Window).lightness() < 128 ? darkTheme() : light();
}

void applyTheme(QApplication& app, ThemeChoice choice) {
    // The desktop's choice is known only until the palette is set for the first time.
    static const bool system_dark = &Theme::of(QApplication::palette()) == &Theme::darkTheme();
    const bool dark = choice == ThemeChoice::Dark || (choice == ThemeChoice::System && system_dark);
    const Theme& theme = dark ? Theme::darkTheme() : Theme::light();
    QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
    QApplication::setPalette(paletteOf(theme));
    QApplication::setFont(applicationFont());
    QToolTip::setPalette(QApplication::palette());
    QToolTip::setFont(uiFont(-0.75));
    app.setStyleSheet(styleSheet(theme));
}

void applyTheme(QWidget& widget, bool dark) {
    const Theme& theme = dark ? Theme::darkTheme() : Theme::light();
    widget.setPalette(paletteOf(theme));
    widget.setStyleSheet(styleSheet(theme));
}

QColor idleColour(const Theme& theme) { return mixed(theme.surface, theme.water, theme.dark ? 0.16 : 0.1); }

QColor hatchColour(const Theme& theme) {
    QColor colour = theme.water;
    colour.setAlphaF(0.35F);
    return colour;
}

QFont uiFont(qreal pointDelta, bool strong) {
    QFont font = QApplication::font();
    font.setPointSizeF(font.pointSizeF() + pointDelta);
    if (strong) font.setWeight(QFont::DemiBold);
    return font;
}

}  // namespace plimsoll::ui
