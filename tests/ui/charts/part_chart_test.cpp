// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include <QAbstractBarSeries>
#include <QApplication>
#include <QBarSet>
#include <QChart>
#include <QClipboard>
#include <QHelpEvent>
#include <QPieSeries>
#include <QTemporaryDir>
#include <QTest>
#include <QToolTip>

#include "ui/charts/part_bars.h"
#include "ui/charts/share_pie.h"

namespace plimsoll::ui {
namespace {

std::function<QColor(const Theme&)> category(std::size_t index) {
    return [index](const Theme& theme) { return theme.category[index]; };
}

std::vector<ChartPart> threeParts() {
    return {{.name = QStringLiteral("Embedding"),
             .value = 20,
             .figures = {QStringLiteral("20 GiB")},
             .colour = category(0),
             .other = 10},
            {.name = QStringLiteral("Attention"),
             .value = 30,
             .figures = {QStringLiteral("30 GiB")},
             .colour = category(1),
             .other = 60},
            {.name = QStringLiteral("MLP"),
             .value = 50,
             .figures = {QStringLiteral("50 GiB")},
             .colour = category(2),
             .other = 0}};
}

template <class T>
std::unique_ptr<T> shown(int width = 480) {
    auto chart = std::make_unique<T>(QStringLiteral("Memory by category"), QStringLiteral("GiB"));
    chart->setParts(threeParts());
    chart->resize(width, chart->sizeHint().height());
    chart->show();
    EXPECT_TRUE(QTest::qWaitForWindowExposed(chart.get()));
    return chart;
}

QPieSeries* pieOf(const PartChart& chart) { return qobject_cast<QPieSeries*>(chart.chart()->series().value(0)); }
QList<QBarSet*> setsOf(const PartChart& chart) {
    const auto* series = qobject_cast<QAbstractBarSeries*>(chart.chart()->series().value(0));
    return series ? series->barSets() : QList<QBarSet*>();
}

/// A pixel of the picture, by a place of the chart.
QColor pixel(PartChart& chart, const QPointF& at) {
    const QImage image = chart.picture();
    return image.pixelColor((at * image.devicePixelRatio()).toPoint());
}

TEST(SharePie, HoldsTheValuesInTheirColours) {
    const auto pie = shown<SharePie>();
    const QPieSeries* series = pieOf(*pie);
    ASSERT_NE(series, nullptr);
    ASSERT_EQ(series->count(), 3);
    const QList<QPieSlice*> slices = series->slices();
    for (qsizetype i = 0; i < 3; ++i) {
        const ChartPart& part = pie->parts()[static_cast<std::size_t>(i)];
        EXPECT_EQ(slices[i]->label(), part.name);
        EXPECT_EQ(slices[i]->value(), part.value);
        EXPECT_EQ(slices[i]->color(), Theme::light().category[static_cast<std::size_t>(i)]);
    }
    EXPECT_DOUBLE_EQ(slices[2]->percentage(), 0.5);
}

TEST(SharePie, NewPartsReplaceTheOldOnesAlsoWhileItIsHidden) {
    const auto pie = shown<SharePie>();
    pie->hide();
    std::vector<ChartPart> parts = threeParts();
    parts.pop_back();
    pie->setParts(parts);
    pie->show();
    ASSERT_EQ(pie->chart()->series().size(), 1);
    EXPECT_EQ(pieOf(*pie)->count(), 2);
    pie->setParts({});
    EXPECT_TRUE(pie->chart()->series().isEmpty());
}

TEST(PartBars, ColoursEachPartAndCountsFromAbove) {
    const auto bars = shown<PartBars>();
    const QList<QBarSet*> sets = setsOf(*bars);
    ASSERT_EQ(sets.size(), 3);
    // Qt Charts' first category is the lowest: the last part.
    const QStringList names{QStringLiteral("MLP"), QStringLiteral("Attention"), QStringLiteral("Embedding")};
    const QList<double> values{50, 30, 20};
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(sets[i]->label(), names[i]);
        for (int line = 0; line < 3; ++line) EXPECT_EQ(sets[i]->at(line), line == i ? values[i] : 0);
        EXPECT_EQ(sets[i]->color(), Theme::light().category[static_cast<std::size_t>(2 - i)]);
    }
}

TEST(PartBars, DrawsLongerBarsForMoreAndFollowsTheTheme) {
    const auto bars = shown<PartBars>();
    const auto inBar = [&](int line, double share) {
        // The plot takes what names and figures leave: from the right, 6 px apart.
        const double right = bars->width() - 6.0;
        const double left = right - (bars->width() - 6.0) * 0.4;
        return pixel(*bars,
                     {left + (right - left) * share, line * PartChart::lineHeight + PartChart::lineHeight / 2.0});
    };
    for (const bool dark : {false, true, false}) {
        applyTheme(*qApp, dark ? ThemeChoice::Dark : ThemeChoice::Light);
        const Theme& theme = dark ? Theme::darkTheme() : Theme::light();
        EXPECT_EQ(inBar(2, 0.9), theme.category[2]) << "the largest part goes up to the end";
        EXPECT_EQ(inBar(0, 0.9), theme.surface) << "a part of two fifths does not";
        EXPECT_EQ(setsOf(*bars)[0]->color(), theme.category[2]);
    }
}

TEST(PartBars, ComparesTwoWholes) {
    const auto bars = shown<PartBars>();
    bars->setCompared(QStringLiteral("this layout"), QStringLiteral("the plan"));
    const QList<QBarSet*> sets = setsOf(*bars);
    ASSERT_EQ(sets.size(), 2);
    QHash<QString, QList<double>> values;
    for (const QBarSet* set : sets) values[set->label()] = {set->at(0), set->at(1), set->at(2)};
    EXPECT_EQ(values[QStringLiteral("this layout")], (QList<double>{50, 30, 20}));
    EXPECT_EQ(values[QStringLiteral("the plan")], (QList<double>{0, 60, 10}));
    bars->copyData();
    EXPECT_EQ(
        QGuiApplication::clipboard()->text(),
        QStringLiteral("part\tthis layout, GiB\tthe plan, GiB\nEmbedding\t20\t10\nAttention\t30\t60\nMLP\t50\t0\n"));
    bars->setCompared({}, {});
    EXPECT_EQ(setsOf(*bars).size(), 3);
}

TEST(PartChart, IsCopiedAndSavedAsATableAndAPicture) {
    const QTemporaryDir folder;
    const auto pie = shown<SharePie>();
    const QString table = folder.filePath(QStringLiteral("shares.csv")),
                  picture = folder.filePath(QStringLiteral("a.png"));
    ASSERT_TRUE(pie->saveTo(table));
    ASSERT_TRUE(pie->saveTo(picture));
    QFile file(table);
    ASSERT_TRUE(file.open(QIODevice::ReadOnly));
    EXPECT_EQ(file.readAll(), QByteArray("part,GiB\nEmbedding,20\nAttention,30\nMLP,50\n"));
    EXPECT_EQ(QImage(picture).size(), pie->size() * 2);
    // The ring is in the picture: its top, right of the middle, is the first part.
    const double side = pie->height() - 8;
    EXPECT_EQ(pixel(*pie, {4 + side / 2 + 12, 4 + side * 0.09}), Theme::light().category[0]);
}

TEST(PartChart, SaysItsPartsAndTheArrowsWalkThem) {
    const auto bars = shown<PartBars>();
    EXPECT_EQ(bars->accessibleName(), QStringLiteral("Memory by category"));
    EXPECT_EQ(bars->accessibleDescription(), QStringLiteral("Embedding: 20 GiB; Attention: 30 GiB; MLP: 50 GiB"));
    bars->setFocus();
    QTest::keyClick(bars.get(), Qt::Key_Down);
    EXPECT_EQ(bars->accessibleDescription(), QStringLiteral("Embedding: 20 GiB"));
    for (int i = 0; i < 5; ++i) QTest::keyClick(bars.get(), Qt::Key_Down);
    EXPECT_EQ(bars->accessibleDescription(), QStringLiteral("MLP: 50 GiB"));
    QTest::keyClick(bars.get(), Qt::Key_Up);
    EXPECT_EQ(bars->accessibleDescription(), QStringLiteral("Attention: 30 GiB"));
    bars->clearFocus();
    EXPECT_TRUE(bars->accessibleDescription().startsWith(QStringLiteral("Embedding: 20 GiB; ")));
}

QString tipAt(PartChart& chart, const QPointF& at) {
    QHelpEvent help(QEvent::ToolTip, at.toPoint(), chart.mapToGlobal(at.toPoint()));
    QToolTip::hideText();
    QApplication::sendEvent(&chart, &help);
    return help.isAccepted() ? QToolTip::text() : QStringLiteral("hidden");
}

TEST(PartChart, TellsThePartUnderTheMouse) {
    const auto bars = shown<PartBars>();
    EXPECT_EQ(tipAt(*bars, {30, PartChart::lineHeight * 1.5}), QStringLiteral("Attention: 30 GiB"));
    EXPECT_EQ(tipAt(*bars, {bars->width() - 20.0, PartChart::lineHeight * 2.5}), QStringLiteral("MLP: 50 GiB"));
    const auto pie = shown<SharePie>();
    const double side = pie->height() - 8, middle = 4 + side / 2;
    EXPECT_EQ(tipAt(*pie, {middle + side * 0.2, 4 + side * 0.12}), QStringLiteral("Embedding: 20 GiB"));
    EXPECT_EQ(tipAt(*pie, {4 + side * 0.09, middle}), QStringLiteral("MLP: 50 GiB")) << "the left half of the ring";
    EXPECT_EQ(tipAt(*pie, {middle, middle}), QStringLiteral("hidden")) << "nothing is in its middle";
}

TEST(PartChart, LeavesTheMouseAndTheWheelToThePage) {
    const auto bars = shown<PartBars>();
    EXPECT_EQ(bars->childAt(200, 30), nullptr) << "the view inside is not in the mouse's way";
}

}  // namespace
}  // namespace plimsoll::ui
