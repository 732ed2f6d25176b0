// SPDX-License-Identifier: GPL-3.0-or-later
// Step axis, value axis, painting and the plot widget: what a person sees is what was recorded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <QApplication>
#include <QClipboard>
#include <QFile>
#include <QLocale>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>

#include "ui/plots/line_plot.h"
#include "ui/plots/plot_painter.h"
#include "ui/plots/polyline.h"
#include "ui/plots/scan_line.h"
#include "ui/widgets/theme.h"

namespace plimsoll::ui {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();

Pyramid series(std::size_t count, const std::function<double(std::size_t)>& value) {
    Pyramid data;
    for (std::size_t i = 0; i < count; ++i) data.append({.step = i, .time = 0, .value = value(i)});
    return data;
}

PlotContent contentOf(const Pyramid& data, int category = 0) {
    PlotContent content;
    content.lines = {{.name = QStringLiteral("loss"), .data = [&data] { return &data; }, .category = category}};
    return content;
}

QImage grab(LinePlot& plot, qreal ratio = 1) {
    QImage image(plot.size() * ratio, QImage::Format_ARGB32_Premultiplied);
    image.setDevicePixelRatio(ratio);
    image.fill(Theme::light().surface);
    QPainter painter(&image);
    plot.render(painter, plot.rect(), ratio);
    return image;
}

bool near(QRgb a, const QColor& b, int distance = 24) {
    return std::abs(qRed(a) - b.red()) + std::abs(qGreen(a) - b.green()) + std::abs(qBlue(a) - b.blue()) < distance;
}

// Topmost row of `area` that holds the colour; -1 when none does.
int topRow(const QImage& image, const QRect& area, const QColor& colour) {
    for (int y = area.top(); y <= area.bottom(); ++y)
        for (int x = area.left(); x <= area.right(); ++x)
            if (near(image.pixel(x, y), colour)) return y;
    return -1;
}

int count(const QImage& image, const QRect& area, const QColor& colour, int distance = 24) {
    int found = 0;
    for (int y = area.top(); y <= area.bottom(); ++y)
        for (int x = area.left(); x <= area.right(); ++x) found += near(image.pixel(x, y), colour, distance);
    return found;
}

QRect frameOf(const LinePlot& plot) { return PlotPainter::frameOf(plot.content(), plot.rect(), plot.font()).toRect(); }

TEST(StepAxis, FollowingFillsAtLeastHalfTheWidthAndHoldsStillBetweenDoublings) {
    StepAxis axis;
    axis.setRun(30, 5000);
    EXPECT_EQ(axis.range(), (StepRange{0, 5000.0 / 128}));  // 39.06: the smallest halving past 30
    axis.setRun(39, 5000);
    EXPECT_EQ(axis.range(), (StepRange{0, 5000.0 / 128}));
    axis.setRun(40, 5000);
    EXPECT_EQ(axis.range(), (StepRange{0, 5000.0 / 64}));
    axis.setRun(3104, 5000);
    EXPECT_EQ(axis.range(), (StepRange{0, 5000}));
    for (int latest = 8; latest <= 5000; ++latest) {
        axis.setRun(latest, 5000);
        ASSERT_GE(axis.range().to, latest);
        ASSERT_LE(axis.range().to, std::max(2.0 * latest, 16.0));
    }
}

TEST(StepAxis, ARunPastItsPlannedEndIsShownWhole) {
    StepAxis axis;
    axis.setRun(6000, 5000);
    EXPECT_GE(axis.range().to, 6000);
    EXPECT_EQ(axis.whole().to, 6000);
}

TEST(StepAxis, ZoomKeepsTheStepUnderTheMouseInPlace) {
    const StepRange range{100, 500};
    for (const double at : {100.0, 180.0, 300.0, 500.0}) {
        for (const double factor : {0.5, 0.8, 1.25, 3.0}) {
            const StepRange next = StepAxis::zoomed(range, factor, at);
            EXPECT_NEAR(next.width(), range.width() * factor, 1e-9);
            EXPECT_NEAR((at - next.from) / next.width(), (at - range.from) / range.width(), 1e-12);
        }
    }
}

TEST(StepAxis, NeverShowsStepsOutsideTheRunNorLessThanFour) {
    StepAxis axis;
    axis.setRun(1000, 1000);
    axis.show({-50, 150});
    EXPECT_EQ(axis.range(), (StepRange{0, 200}));
    EXPECT_FALSE(axis.following());
    axis.show({900, 1100});
    EXPECT_EQ(axis.range(), (StepRange{800, 1000}));
    axis.show({500, 500.001});
    EXPECT_NEAR(axis.range().width(), 4, 1e-9);
    axis.show({-1e300, 1e300});
    EXPECT_EQ(axis.range(), (StepRange{0, 1000}));
    axis.show({nan, 3});
    EXPECT_EQ(axis.range(), (StepRange{0, 1000}));
    axis.follow();
    EXPECT_TRUE(axis.following());
}

TEST(StepAxis, AZoomedViewStaysWhileTheRunGoesOn) {
    StepAxis axis;
    axis.setRun(1000, 5000);
    axis.show({100, 200});
    axis.setRun(2000, 5000);
    EXPECT_EQ(axis.range(), (StepRange{100, 200}));
}

TEST(StepAxis, RevealMovesAStepIntoView) {
    StepAxis axis;
    axis.setRun(1000, 1000);
    axis.show({0, 100});
    axis.reveal(700);
    EXPECT_EQ(axis.cursor(), 700);
    EXPECT_EQ(axis.range(), (StepRange{650, 750}));
    axis.reveal(660);
    EXPECT_EQ(axis.range(), (StepRange{650, 750}));
}

TEST(ValueAxis, TicksAreNiceNumbersWithinTheRange) {
    EXPECT_THAT(niceValues(2.1, 11.2, 4), testing::ElementsAre(2.5, 5, 7.5, 10));
    EXPECT_THAT(niceValues(0, 5000, 5), testing::ElementsAre(0, 1000, 2000, 3000, 4000, 5000));
    EXPECT_TRUE(niceValues(3, 3, 4).empty());
    EXPECT_TRUE(niceValues(0, inf, 4).empty());
    const ValueAxis axis(ValueKind::Plain, Scale::Linear, 2.1, 11.2);
    for (const Tick& tick : axis.ticks(4)) {
        EXPECT_GE(axis.position(tick.value), -1e-9);
        EXPECT_LE(axis.position(tick.value), 1 + 1e-9);
    }
}

QStringList labels(const ValueAxis& axis, int count) {
    QStringList texts;
    for (const Tick& tick : axis.ticks(count)) texts << tick.label;
    return texts;
}

TEST(ValueAxis, LossScaleTicksArePowersOfTwo) {
    EXPECT_EQ(labels(ValueAxis(ValueKind::PowerOfTwo, Scale::Log2, 32768, 131072), 4),
              (QStringList{QStringLiteral("2¹⁵"), QStringLiteral("2¹⁶"), QStringLiteral("2¹⁷")}));
    EXPECT_EQ(labels(ValueAxis(ValueKind::PowerOfTwo, Scale::Log2, 65536, 65536), 4),
              (QStringList{QStringLiteral("2¹⁵"), QStringLiteral("2¹⁶"), QStringLiteral("2¹⁷")}));
    EXPECT_EQ(labels(ValueAxis(ValueKind::PowerOfTwo, Scale::Log2, 1, 0x1p24), 4).first(), QStringLiteral("2⁰"));
}

TEST(ValueAxis, BytesAreTickedInBinaryUnits) {
    const QStringList texts = labels(ValueAxis(ValueKind::Bytes, Scale::Linear, 61 * 0x1p30, 64 * 0x1p30), 4);
    EXPECT_EQ(texts.first(), QStringLiteral("61"));
    EXPECT_EQ(texts.last(), QStringLiteral("64\u00a0GiB"));
}

TEST(ValueAxis, LogTicksAreDecades) {
    EXPECT_EQ(labels(ValueAxis(ValueKind::Plain, Scale::Log10, 0.01, 100), 4),
              (QStringList{QStringLiteral("0.01"), QStringLiteral("0.1"), QStringLiteral("1"), QStringLiteral("10"),
                           QStringLiteral("100")}));
}

TEST(ValueAxis, AnyRangeGivesAFiniteAxis) {
    for (const Scale scale : {Scale::Linear, Scale::Log10, Scale::Log2})
        for (const auto& [low, high] : std::vector<std::pair<double, double>>{
                 {0, 0}, {1, 1}, {-5, -5}, {1e-300, 1e300}, {-1e308, 1e308}, {5e-324, 5e-324}, {1e308, 1.7e308}}) {
            const ValueAxis axis(ValueKind::Plain, scale, low, high);
            EXPECT_TRUE(std::isfinite(axis.low()) && std::isfinite(axis.high())) << low << ' ' << high;
            EXPECT_LT(axis.low(), axis.high()) << low << ' ' << high;
            EXPECT_TRUE(std::isfinite(axis.position(low)));
            EXPECT_LT(axis.ticks(4).size(), 100U);
        }
}

TEST(ValueFormat, ReadsAsAPersonWritesIt) {
    EXPECT_EQ(formatValue(ValueKind::Plain, 2.61449), QStringLiteral("2.614"));
    EXPECT_EQ(formatValue(ValueKind::Plain, 0), QStringLiteral("0.000"));
    EXPECT_EQ(formatValue(ValueKind::Plain, nan), QStringLiteral("NaN"));
    EXPECT_EQ(formatValue(ValueKind::Plain, -inf), QStringLiteral("−∞"));
    EXPECT_EQ(formatValue(ValueKind::Scientific, 2.468e-4), QStringLiteral("2.47e−4"));
    EXPECT_EQ(formatValue(ValueKind::Scientific, 3e-4), QStringLiteral("3e−4"));
    EXPECT_EQ(formatValue(ValueKind::Scientific, 9.9999e-4), QStringLiteral("1e−3"));
    EXPECT_EQ(formatValue(ValueKind::Bytes, 61.9 * 0x1p30), QStringLiteral("61.9\u00a0GiB"));
    EXPECT_EQ(formatValue(ValueKind::Short, 163100), QStringLiteral("163.1\u00a0k"));
    EXPECT_EQ(formatValue(ValueKind::Seconds, 0.214), QStringLiteral("214\u00a0ms"));
    EXPECT_EQ(formatValue(ValueKind::PowerOfTwo, 65536), QLocale().toString(65536));
}

TEST(LinePlot, ASpikeOfOneStepAmongAMillionReachesItsHeightWhenTheWholeRunIsShown) {
    const Pyramid data = series(1'000'000, [](std::size_t i) { return i == 654'321 ? 9.0 : 2.0 + 0.1 * (i % 7); });
    StepAxis axis;
    axis.setRun(999'999, 1'000'000);
    LinePlot plot(QStringLiteral("Loss"), &axis);
    plot.resize(500, 160);
    plot.setContent(contentOf(data));
    for (const qreal ratio : {1.0, 2.0}) {
        const QImage image = grab(plot, ratio);
        const QRectF frame = PlotPainter::frameOf(plot.content(), plot.rect(), plot.font());
        const PlotPainter painter(plot.content(), axis, Theme::light(), plot.font(), plot.rect(), ratio);
        const int x = static_cast<int>(painter.xOf(654'321) * ratio);
        const QRect spike(x - 2, 0, 5, static_cast<int>(frame.bottom() * ratio));
        const int top = topRow(image, spike, Theme::light().category[0]);
        EXPECT_NEAR(top / ratio, painter.yOf(9.0), 2) << "at ratio " << ratio;
        // Beside it the line stays below: the spike is one column, not a plateau.
        const QRect beside(x + 8, 0, 40, static_cast<int>(frame.bottom() * ratio));
        EXPECT_GT(topRow(image, beside, Theme::light().category[0]) / ratio, painter.yOf(3.0));
    }
}

TEST(LinePlot, FewPointsAreJoinedWhereTheyLie) {
    const Pyramid data = series(11, [](std::size_t i) { return static_cast<double>(i); });
    StepAxis axis;
    axis.setRun(10, 10);
    LinePlot plot(QStringLiteral("Loss"), &axis);
    plot.resize(500, 160);
    plot.setContent(contentOf(data));
    const QImage image = grab(plot);
    const PlotPainter painter(plot.content(), axis, Theme::light(), plot.font(), plot.rect(), 1);
    for (const double at : {1.0, 2.5, 5.0, 9.5}) {
        const QRect there(static_cast<int>(painter.xOf(at)) - 1, static_cast<int>(painter.yOf(at)) - 2, 3, 5);
        EXPECT_GT(count(image, there, Theme::light().category[0]), 0) << at;
    }
}

TEST(LinePlot, ACurveIsDrawnWhereItsPointsLieHoweverManyThereAre) {
    // Few points are joined as they are, many through their columns, noisy ones as spans (of about 430 columns).
    for (const std::size_t points : {20U, 180U, 400U, 100'000U}) {
        const auto curve = [&](double share) { return std::sin(6 * share) + 0.3 * share; };
        const Pyramid data = series(points, [&](std::size_t i) { return curve(static_cast<double>(i) / points); });
        StepAxis axis;
        axis.setRun(static_cast<double>(points), static_cast<double>(points));
        LinePlot plot(QStringLiteral("Loss"), &axis);
        plot.resize(500, 160);
        plot.setContent(contentOf(data));
        const QImage image = grab(plot);
        const PlotPainter painter(plot.content(), axis, Theme::light(), plot.font(), plot.rect(), 1);
        for (int k = 1; k < 19; ++k) {
            const double at = std::floor(static_cast<double>(points) * k / 20);
            const double y = painter.yOf(curve(at / static_cast<double>(points)));
            const QRect there(static_cast<int>(painter.xOf(at)), static_cast<int>(y) - 2, 1, 5);
            EXPECT_GT(count(image, there, Theme::light().category[0], 120), 0) << points << " points at " << k;
            const QRect above(there.left(), 0, 1, static_cast<int>(y) - 4);
            EXPECT_EQ(count(image, above, Theme::light().category[0], 120), 0) << points << " points at " << k;
        }
    }
}

TEST(LinePlot, NotANumberIsMarkedAtTheEdgeAndInterruptsTheLine) {
    const Pyramid data = series(100, [](std::size_t i) { return i >= 40 && i < 60 ? nan : 1.0 + 0.01 * i; });
    StepAxis axis;
    axis.setRun(99, 100);
    LinePlot plot(QStringLiteral("Loss"), &axis);
    plot.resize(500, 160);
    plot.setContent(contentOf(data));
    const QImage image = grab(plot);
    const PlotPainter painter(plot.content(), axis, Theme::light(), plot.font(), plot.rect(), 1);
    const QRect frame = frameOf(plot);
    const QRect mark(static_cast<int>(painter.xOf(40)) - 4, frame.top() - 1, 9, 7);
    EXPECT_GT(count(image, mark, Theme::light().water), 8);
    const QRect hole(static_cast<int>(painter.xOf(42)), frame.top() + 8,
                     static_cast<int>(painter.xOf(57) - painter.xOf(42)), frame.height() - 9);
    EXPECT_EQ(count(image, hole, Theme::light().category[0]), 0);
}

TEST(LinePlot, InfinityAmongAMillionStepsIsMarked) {
    const Pyramid data = series(1'000'000, [](std::size_t i) { return i == 250'000 ? inf : 1.0; });
    StepAxis axis;
    axis.setRun(999'999, 1'000'000);
    LinePlot plot(QStringLiteral("Gradient norm"), &axis);
    plot.resize(500, 160);
    plot.setContent(contentOf(data));
    const QImage image = grab(plot);
    const PlotPainter painter(plot.content(), axis, Theme::light(), plot.font(), plot.rect(), 1);
    const QRect mark(static_cast<int>(painter.xOf(250'000)) - 4, frameOf(plot).top() - 1, 9, 7);
    EXPECT_GT(count(image, mark, Theme::light().water), 8);
    EXPECT_GT(painter.values().high(), 1);
    EXPECT_LT(painter.values().high(), 2) << "an infinity must not stretch the axis";
}

TEST(LinePlot, LogScaleSpacesDecadesEvenlyAndKeepsZeroAtTheBottom) {
    const Pyramid data = series(5, [](std::size_t i) { return i == 4 ? 0.0 : std::pow(10.0, static_cast<double>(i)); });
    StepAxis axis;
    axis.setRun(4, 8);
    LinePlot plot(QStringLiteral("Loss"), &axis);
    plot.resize(500, 160);
    plot.setContent(contentOf(data));
    plot.show();
    QTest::keyClick(&plot, Qt::Key_L);
    EXPECT_TRUE(plot.logScale());
    const PlotPainter painter(plot.content(), axis, Theme::light(), plot.font(), plot.rect(), 1);
    const double decade = painter.yOf(1) - painter.yOf(10);
    EXPECT_GT(decade, 20);
    EXPECT_NEAR(painter.yOf(10) - painter.yOf(100), decade, 1e-6);
    EXPECT_NEAR(painter.yOf(100) - painter.yOf(1000), decade, 1e-6);
    EXPECT_GE(painter.yOf(0), painter.frame().bottom());
    QTest::keyClick(&plot, Qt::Key_L);
    EXPECT_FALSE(plot.logScale());
}

TEST(LinePlot, TheCursorReadsTheExactRecordedValue) {
    const Pyramid data = series(100'000, [](std::size_t i) { return std::sin(static_cast<double>(i)) + 2; });
    StepAxis axis;
    axis.setRun(99'999, 100'000);
    LinePlot plot(QStringLiteral("Loss"), &axis);
    plot.resize(500, 160);
    plot.setContent(contentOf(data));
    plot.show();
    QMouseEvent move(QEvent::MouseMove, QPointF(250, 60), plot.mapToGlobal(QPointF(250, 60)), Qt::NoButton,
                     Qt::NoButton, {});
    QApplication::sendEvent(&plot, &move);
    ASSERT_TRUE(axis.cursor().has_value());
    const double step = *axis.cursor();
    EXPECT_EQ(step, std::floor(step)) << "the cursor stands on a recorded step";
    const PlotPainter painter(plot.content(), axis, Theme::light(), plot.font(), plot.rect(), 1);
    EXPECT_NEAR(step, painter.stepAt(250), 1);
    EXPECT_EQ(plot.valueAt(0, step), std::sin(step) + 2);
    EXPECT_TRUE(plot.readout(1204).contains(formatValue(ValueKind::Plain, std::sin(1204.0) + 2)));
}

TEST(LinePlot, ASparseSeriesReadsItsLastRecordedValue) {
    Pyramid data;
    for (const std::uint64_t step : {50U, 100U, 150U}) data.append({.step = step, .time = 0, .value = step / 10.0});
    StepAxis axis;
    axis.setRun(200, 200);
    LinePlot plot(QStringLiteral("Validation"), &axis);
    plot.setContent(contentOf(data));
    EXPECT_EQ(plot.valueAt(0, 149), 10.0);
    EXPECT_EQ(plot.valueAt(0, 150), 15.0);
    EXPECT_EQ(plot.valueAt(0, 1e18), 15.0);
    EXPECT_EQ(plot.valueAt(0, 3), 5.0);
    EXPECT_EQ(plot.valueAt(1, 3), std::nullopt);
    // An fp16 overflow repeats a step: what was applied in the end counts.
    data.append({.step = 150, .time = 0, .value = 99});
    EXPECT_EQ(plot.valueAt(0, 150), 99.0);
    EXPECT_EQ(nearestStep(data, 126), 150);
    EXPECT_EQ(nearestStep(data, 124), 100);
}

TEST(LinePlot, CopiedDataAreTheExactPointsOfTheShownSteps) {
    const Pyramid loss = series(1001, [](std::size_t i) { return static_cast<double>(i) / 8; });
    Pyramid validation;
    for (const std::uint64_t step : {100U, 102U}) validation.append({.step = step, .time = 0, .value = nan});
    StepAxis axis;
    axis.setRun(1000, 1000);
    LinePlot plot(QStringLiteral("Loss"), &axis);
    PlotContent content = contentOf(loss);
    content.lines.push_back({.name = QStringLiteral("validation"), .data = [&] { return &validation; }});
    plot.setContent(std::move(content));
    axis.show({99, 103});
    plot.copyData();
    EXPECT_EQ(QGuiApplication::clipboard()->text().toStdString(),
              "step\tloss\tvalidation\n99\t12.375\t\n100\t12.5\tnan\n101\t12.625\t\n102\t12.75\tnan\n"
              "103\t12.875\t\n");
}

TEST(LinePlot, SavesItsTableAndItsPicture) {
    const Pyramid data = series(3, [](std::size_t i) { return static_cast<double>(i); });
    StepAxis axis;
    axis.setRun(2, 2);
    LinePlot plot(QStringLiteral("Loss"), &axis);
    plot.resize(300, 120);
    plot.setContent(contentOf(data));
    const QTemporaryDir folder;
    ASSERT_TRUE(plot.saveTo(folder.filePath(QStringLiteral("loss.csv"))));
    QFile table(folder.filePath(QStringLiteral("loss.csv")));
    ASSERT_TRUE(table.open(QIODevice::ReadOnly));
    EXPECT_EQ(table.readAll().toStdString(), "step,loss\n0,0\n1,1\n2,2\n");
    ASSERT_TRUE(plot.saveTo(folder.filePath(QStringLiteral("loss.png"))));
    EXPECT_EQ(QImage(folder.filePath(QStringLiteral("loss.png"))).size(), QSize(600, 240));
    EXPECT_FALSE(plot.saveTo(QStringLiteral("/nowhere/loss.csv")));
}

TEST(LinePlot, KeysZoomPanAndGoBackToTheWholeRun) {
    const Pyramid data = series(1001, [](std::size_t i) { return static_cast<double>(i); });
    StepAxis axis;
    axis.setRun(1000, 1000);
    LinePlot plot(QStringLiteral("Loss"), &axis);
    plot.resize(500, 160);
    plot.setContent(contentOf(data));
    plot.show();
    QTest::keyClick(&plot, Qt::Key_Plus);
    EXPECT_EQ(axis.range(), (StepRange{100, 900}));
    QTest::keyClick(&plot, Qt::Key_Right);
    EXPECT_EQ(axis.range(), (StepRange{180, 980}));
    QTest::keyClick(&plot, Qt::Key_Right);
    EXPECT_EQ(axis.range(), (StepRange{200, 1000}));
    QTest::keyClick(&plot, Qt::Key_Home);
    EXPECT_TRUE(axis.following());
    EXPECT_EQ(axis.range(), (StepRange{0, 1000}));
    QTest::keyClick(&plot, Qt::Key_Left, Qt::ShiftModifier);
    EXPECT_EQ(axis.cursor(), 1000);
    QTest::keyClick(&plot, Qt::Key_Left, Qt::ShiftModifier);
    EXPECT_EQ(axis.cursor(), 999);
    EXPECT_TRUE(plot.accessibleDescription().contains(QStringLiteral("999")));
}

TEST(LinePlot, WheelZoomsAtTheMouseAndDragPans) {
    const Pyramid data = series(1001, [](std::size_t i) { return static_cast<double>(i); });
    StepAxis axis;
    axis.setRun(1000, 1000);
    LinePlot plot(QStringLiteral("Loss"), &axis);
    plot.resize(500, 160);
    plot.setContent(contentOf(data));
    plot.show();
    const QRectF frame = PlotPainter::frameOf(plot.content(), plot.rect(), plot.font());
    const QPointF at(frame.left() + frame.width() / 4, 60);
    QWheelEvent wheel(at, plot.mapToGlobal(at), {}, {0, 120}, Qt::NoButton, Qt::ControlModifier, Qt::NoScrollPhase,
                      false);
    QApplication::sendEvent(&plot, &wheel);
    EXPECT_NEAR(axis.range().width(), 800, 1e-6);
    EXPECT_NEAR(axis.range().from + axis.range().width() / 4, 250, 1e-6);

    axis.show({400, 600});
    const QPoint from(300, 60);
    QTest::mousePress(&plot, Qt::LeftButton, {}, from);
    const QPoint to(from.x() - static_cast<int>(frame.width() / 4), from.y());
    QMouseEvent move(QEvent::MouseMove, QPointF(to), plot.mapToGlobal(QPointF(to)), Qt::NoButton, Qt::LeftButton, {});
    QApplication::sendEvent(&plot, &move);
    QTest::mouseRelease(&plot, Qt::LeftButton, {}, to);
    EXPECT_NEAR(axis.range().from, 450, 1);
    EXPECT_NEAR(axis.range().width(), 200, 1e-6);

    QTest::mouseDClick(&plot, Qt::LeftButton, {}, from);
    EXPECT_TRUE(axis.following());
}

TEST(LinePlot, ShiftDragZoomsIntoTheBox) {
    const Pyramid data = series(1001, [](std::size_t i) { return static_cast<double>(i); });
    StepAxis axis;
    axis.setRun(1000, 1000);
    LinePlot plot(QStringLiteral("Loss"), &axis);
    plot.resize(500, 160);
    plot.setContent(contentOf(data));
    plot.show();
    const PlotPainter before(plot.content(), axis, Theme::light(), plot.font(), plot.rect(), 1);
    const double from = before.stepAt(200), to = before.stepAt(300);
    QTest::mousePress(&plot, Qt::LeftButton, Qt::ShiftModifier, {200, 60});
    QTest::mouseRelease(&plot, Qt::LeftButton, Qt::ShiftModifier, {300, 90});
    EXPECT_NEAR(axis.range().from, from, 1e-6);
    EXPECT_NEAR(axis.range().to, to, 1e-6);
}

TEST(LinePlot, CrossesAllPlotsOfAnAxisAtTheSameStep) {
    const Pyramid data = series(100, [](std::size_t i) { return static_cast<double>(i); });
    StepAxis axis;
    axis.setRun(99, 100);
    LinePlot one(QStringLiteral("Loss"), &axis), two(QStringLiteral("Rate"), &axis);
    for (LinePlot* plot : {&one, &two}) {
        plot->resize(400, 140);
        plot->setContent(contentOf(data));
        plot->show();
    }
    const QImage before = two.grab().toImage();
    axis.setCursor(50);
    EXPECT_NE(two.grab().toImage(), before);
    axis.setCursor(std::nullopt);
    EXPECT_EQ(two.grab().toImage(), before);
}

TEST(LinePlot, FlagsAreDrawnAtTheirStep) {
    const Pyramid data = series(100, [](std::size_t) { return 1.0; });
    StepAxis axis;
    axis.setRun(99, 100);
    LinePlot plot(QStringLiteral("Loss scale"), &axis);
    plot.resize(500, 160);
    plot.setContent(contentOf(data));
    plot.setFlags({{.step = 30, .label = QStringLiteral("spike"), .tone = Tone::Bad}});
    const QImage image = grab(plot);
    const PlotPainter painter(plot.content(), axis, Theme::light(), plot.font(), plot.rect(), 1);
    const QRect frame = frameOf(plot);
    EXPECT_GT(
        count(image, QRect(static_cast<int>(painter.xOf(30)), frame.top(), 1, frame.height()), Theme::light().water),
        20);
}

TEST(LinePlot, PlannedRateRunsDashedAheadOfTheLatestStep) {
    const Pyramid data = series(50, [](std::size_t) { return 1e-3; });
    StepAxis axis;
    axis.setRun(49, 100);
    LinePlot plot(QStringLiteral("Learning rate"), &axis);
    plot.resize(500, 160);
    PlotContent content = contentOf(data);
    content.planned = [](double) { return 1e-3; };
    content.whole_range = true;
    plot.setContent(content);
    const QImage image = grab(plot);
    const PlotPainter painter(plot.content(), axis, Theme::light(), plot.font(), plot.rect(), 1);
    const int y = static_cast<int>(painter.yOf(1e-3));
    const auto strip = [&](double from, double to) {
        return QRect(static_cast<int>(painter.xOf(from)), y - 2, static_cast<int>(painter.xOf(to) - painter.xOf(from)),
                     5);
    };
    EXPECT_EQ(count(image, strip(52, 99), Theme::light().category[0]), 0);
    const int ink = count(image, strip(52, 99), Theme::light().muted, 250);
    const int width = strip(52, 99).width();
    EXPECT_GT(ink, width / 3);
    EXPECT_LT(ink, width * 2);
    // The live point: thicker than the line where the run stands, and gone once it is over.
    const QRect live(static_cast<int>(painter.xOf(49)) - 5, y - 5, 11, 11);
    EXPECT_GT(count(image, live, Theme::light().category[0]), 30);
    StepAxis over;
    over.setRun(49, 49);
    LinePlot ended(QStringLiteral("Learning rate"), &over);
    ended.resize(500, 160);
    ended.setContent(content);
    const PlotPainter last(ended.content(), over, Theme::light(), ended.font(), ended.rect(), 1);
    const QRect end(static_cast<int>(last.xOf(49)) - 5, static_cast<int>(last.yOf(1e-3)) - 5, 11, 11);
    EXPECT_LT(count(grab(ended), end, Theme::light().category[0]), 20);
}

TEST(LinePlot, AnEmptyPlotSaysWhatWillComeAndLetsThePageScroll) {
    StepAxis axis;
    LinePlot plot(QStringLiteral("Loss"), &axis);
    PlotContent content;
    content.empty_text = QStringLiteral("Appears with the first step.");
    plot.setContent(content);
    plot.resize(400, 140);
    plot.show();
    EXPECT_EQ(plot.accessibleDescription(), content.empty_text);
    EXPECT_EQ(plot.accessibleName(), QStringLiteral("Loss"));
    QWheelEvent wheel({100, 60}, plot.mapToGlobal(QPointF(100, 60)), {}, {0, 120}, Qt::NoButton, {}, Qt::NoScrollPhase,
                      false);
    QApplication::sendEvent(&plot, &wheel);
    EXPECT_FALSE(wheel.isAccepted());
    EXPECT_TRUE(axis.following());
}

TEST(Polyline, FewerPointsStayWithinTheTolerance) {
    std::vector<QPointF> points;
    for (int i = 0; i < 2000; ++i) points.emplace_back(i * 0.5, 50 * std::sin(i * 0.005) + (i == 700 ? 30 : 0));
    points[1200].setY(nan);
    const auto kept = simplified(points, 0.1);
    EXPECT_LT(kept.size(), 300U);
    EXPECT_EQ(kept.front(), points.front());
    EXPECT_EQ(kept.back(), points.back());
    EXPECT_EQ(std::count_if(kept.begin(), kept.end(), [](const QPointF& p) { return std::isnan(p.y()); }), 1);
    std::size_t k = 0;
    for (const QPointF& point : points) {
        if (std::isnan(point.y())) continue;
        while (k + 2 < kept.size() && (kept[k + 1].x() < point.x() || std::isnan(kept[k + 1].y()))) ++k;
        const QPointF a = kept[k], b = kept[k + 1];
        if (std::isnan(a.y()) || std::isnan(b.y()) || point.x() < a.x() || point.x() > b.x()) continue;
        EXPECT_NEAR(point.y(), a.y() + (b.y() - a.y()) * (point.x() - a.x()) / (b.x() - a.x()), 0.2) << point.x();
    }
    EXPECT_TRUE(std::find(kept.begin(), kept.end(), points[700]) != kept.end()) << "a spike of one point is kept";
    EXPECT_TRUE(simplified({}, 0.1).empty());
    EXPECT_EQ(simplified({{1, 2}}, 0.1).size(), 1U);
}

TEST(ScanLine, EverySpanCoversItsColumnsMinimumAndMaximum) {
    std::vector<Column> columns(64);
    for (std::size_t i = 0; i < columns.size(); ++i) {
        const double low = 0.1 + 0.8 * std::abs(std::sin(static_cast<double>(i)));
        columns[i] = {
            .empty = false, .first = low, .last = low, .min = low, .max = std::min(1.0, low + 0.05 * (i % 3))};
    }
    const ValueAxis axis(ValueKind::Plain, Scale::Linear, 0, 1);
    QImage image(64, 200, QImage::Format_ARGB32_Premultiplied);
    image.fill(Qt::transparent);
    drawColumns(image, columns, axis, qRgb(200, 0, 0), 1.5, false);
    for (int x = 0; x < 64; ++x) {
        const Column& c = columns[static_cast<std::size_t>(x)];
        for (const double value : {c.min, (c.min + c.max) / 2, c.max}) {
            const int y = std::clamp(static_cast<int>((1 - axis.position(value)) * 200), 0, 199);
            EXPECT_GT(qAlpha(image.pixel(x, y)), 100) << x << ' ' << value;
        }
    }
}

}  // namespace
}  // namespace plimsoll::ui
