// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/theme.h"

#include <gtest/gtest.h>

#include <cmath>
#include <QFile>
#include <QFontMetricsF>
#include <QJsonDocument>
#include <QJsonObject>

#include "ui/widgets/style_sheet.h"
#include "ui/widgets/tabular_font.h"

namespace plimsoll::ui {
namespace {

/// WCAG 2.1: relative luminance and contrast ratio.
double luminance(const QColor& colour) {
    const auto linear = [](double c) { return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4); };
    return 0.2126 * linear(colour.redF()) + 0.7152 * linear(colour.greenF()) + 0.0722 * linear(colour.blueF());
}

double contrast(const QColor& a, const QColor& b) {
    const double lighter = std::max(luminance(a), luminance(b));
    const double darker = std::min(luminance(a), luminance(b));
    return (lighter + 0.05) / (darker + 0.05);
}

class ThemeContrast : public testing::TestWithParam<bool> {
protected:
    const Theme& theme_ = GetParam() ? Theme::darkTheme() : Theme::light();
};

TEST_P(ThemeContrast, TextStandsOutFromEveryBackground) {
    const QColor select = mixed(theme_.surface, theme_.accent, 0.14);
    const QColor hover = mixed(theme_.surface, theme_.ink, 0.05);
    for (const QColor& back : {theme_.bg, theme_.surface, theme_.raised, hover, select}) {
        EXPECT_GE(contrast(theme_.ink, back), 4.5) << back.name().toStdString();
    }
    for (const QColor& back : {theme_.bg, theme_.surface, theme_.raised})
        EXPECT_GE(contrast(theme_.muted, back), 4.5) << back.name().toStdString();
    for (const QColor& text : {theme_.accent, theme_.water, theme_.good, theme_.warn})
        EXPECT_GE(contrast(text, theme_.surface), 4.5) << text.name().toStdString();
    EXPECT_GE(contrast(theme_.accent, select), 4.5);
    EXPECT_GE(contrast(theme_.accentInk, theme_.accent), 4.5);
    EXPECT_GE(contrast(theme_.accentInk, mixed(theme_.accent, theme_.ink, 0.12)), 4.5);
}

TEST_P(ThemeContrast, NeighbouringCategoriesDifferAndStandOutFromTheSurface) {
    for (std::size_t i = 0; i < theme_.category.size(); ++i) {
        EXPECT_GE(contrast(theme_.category[i], theme_.surface), 1.9) << i;
        for (std::size_t j = i + 1; j < theme_.category.size(); ++j) EXPECT_NE(theme_.category[i], theme_.category[j]);
    }
}

TEST_P(ThemeContrast, ColoursAreThoseOfTheTokens) {
    QFile file(QStringLiteral(PLIMSOLL_SOURCE_DIR "/tests/oracles/palette.json"));
    ASSERT_TRUE(file.open(QIODevice::ReadOnly)) << file.errorString().toStdString();
    const QJsonObject tokens = QJsonDocument::fromJson(file.readAll())
                                   .object()[GetParam() ? QStringLiteral("dark") : QStringLiteral("light")]
                                   .toObject();
    const auto token = [&](const char* name) { return QColor(tokens[QLatin1String(name)].toString()); };
    EXPECT_EQ(theme_.bg, token("bg"));
    EXPECT_EQ(theme_.surface, token("surface"));
    EXPECT_EQ(theme_.raised, token("raised"));
    EXPECT_EQ(theme_.ink, token("ink"));
    EXPECT_EQ(theme_.muted, token("muted"));
    EXPECT_EQ(theme_.line, token("line"));
    EXPECT_EQ(theme_.accent, token("accent"));
    EXPECT_EQ(theme_.accentInk, token("accentink"));
    EXPECT_EQ(theme_.water, token("water"));
    EXPECT_EQ(theme_.good, token("good"));
    EXPECT_EQ(theme_.warn, token("warn"));
    const char* categories[] = {"params", "grads", "optim", "acts", "buffers", "overhead"};
    for (std::size_t i = 0; i < theme_.category.size(); ++i) EXPECT_EQ(theme_.category[i], token(categories[i]));
}

INSTANTIATE_TEST_SUITE_P(LightAndDark, ThemeContrast, testing::Bool());

TEST(StyleSheetOf, NoColourIsLeftOpen) {
    for (const Theme* theme : {&Theme::light(), &Theme::darkTheme()})
        EXPECT_FALSE(styleSheet(*theme).contains(QLatin1Char('@')));
}

TEST(TabularFont, FiguresHaveOneWidth) {
    const QFontMetricsF metrics(uiFont());
    const double width = metrics.horizontalAdvance(QStringLiteral("0"));
    for (int digit = 1; digit <= 9; ++digit)
        EXPECT_DOUBLE_EQ(metrics.horizontalAdvance(QString::number(digit)), width) << digit;
    // The point keeps its own.
    EXPECT_LT(metrics.horizontalAdvance(QStringLiteral(".")), width);
}

TEST(TabularFont, WhatIsNoFontIsRefused) {
    const QString from = QStringLiteral("Inter");
    const QString to = QStringLiteral("Other");
    EXPECT_TRUE(withTabularFigures(QByteArray(), from, to).isEmpty());
    EXPECT_TRUE(withTabularFigures(QByteArray("OTTO"), from, to).isEmpty());
    QByteArray noise(4096, '\xff');
    EXPECT_TRUE(withTabularFigures(noise, from, to).isEmpty());
    EXPECT_TRUE(withTabularFigures(noise, from, QStringLiteral("Longer")).isEmpty());
}

}  // namespace
}  // namespace plimsoll::ui
