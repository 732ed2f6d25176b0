// SPDX-License-Identifier: GPL-3.0-or-later
// The Memory page: a dry run as a process, its chart, its refusals.
#include <algorithm>
#include <iostream>
#include <numeric>
#include <QElapsedTimer>
#include <QToolTip>
#include <QWheelEvent>

#include "tests/support/gui_fixture.h"
#include "ui/common/value_format.h"
#include "ui/memory/memory_chart.h"
#include "ui/memory/memory_page.h"
#include "ui/waterline/waterline_data.h"
#include "ui/widgets/category_legend.h"

namespace plimsoll::ui {
namespace {

class MemoryPageTest : public GuiTest {
protected:
    void SetUp() override {
        GuiTest::SetUp();
        qunsetenv("FAKE_DRY_RUN");
        page_ = window_->memoryPage();
        page_->model()->setProgram(QStringLiteral(PLIMSOLL_BIN_DIR "/fake_dry_run"));
        window_->resize(1280, 800);
        openPlan(QStringLiteral("llama-7b-4xa100"));
    }
    void TearDown() override {
        qunsetenv("FAKE_DRY_RUN");
        GuiTest::TearDown();
    }

    /// Goes to the page, which runs the plan by itself.
    void run() {
        window_->showPage(PageId::Memory);
        ASSERT_TRUE(wait([this] { return page_->model()->isFresh(); }, 10'000)) << page_->status().toStdString();
    }
    void waitForProblem() {
        ASSERT_TRUE(wait([this] { return !page_->model()->problem().isEmpty(); }, 10'000));
        EXPECT_EQ(page_->status(), page_->model()->problem());
    }

    void wheel(const QPointF& at, int clicks) {
        MemoryChart* chart = page_->chart();
        QWheelEvent event(at, chart->mapToGlobal(at), {}, {0, 120 * clicks}, Qt::NoButton, Qt::ControlModifier,
                          Qt::NoScrollPhase, false);
        QApplication::sendEvent(chart, &event);
    }

    MemoryPage* page_ = nullptr;
};

TEST_F(MemoryPageTest, ShowsTheTimelineOfThePlanAndRunsAgainAfterAnEdit) {
    run();
    const auto first = page_->model()->timeline();
    EXPECT_EQ(first->plan, "llama-7b");
    EXPECT_EQ(first->rank, 0);
    EXPECT_TRUE(page_->status().isEmpty()) << page_->status().toStdString();
    // 32 layers, each with 3 activations at the peak: weights and optimizer states are three groups a layer.
    Bytes standing = 0;
    for (const StandingBlocks& blocks : first->standing) standing += blocks.bytes;
    EXPECT_EQ(standing, first->peak);
    EXPECT_EQ(page_->standing().rows().constLast().cells.constLast(), bytesText(first->peak));
    // The 32 layers' optimizer states are one row.
    const TextRow& largest = page_->standing().rows().constFirst();
    EXPECT_EQ(largest.cells[0], QStringLiteral("0–31"));
    EXPECT_EQ(largest.cells[4], QStringLiteral("32"));
    EXPECT_EQ(largest.cells[5], bytesText(32 * 800 * MiB));

    window_->plan()->setText(QStringLiteral("layout.accumulation"), QStringLiteral("1"));
    EXPECT_FALSE(page_->model()->isFresh());
    EXPECT_FALSE(page_->status().isEmpty());
    ASSERT_TRUE(wait([this] { return page_->model()->isFresh(); }, 10'000));
    EXPECT_LT(page_->model()->timeline()->events, first->events);
}

TEST_F(MemoryPageTest, AStageIsRunByItsFirstRank) {
    window_->plan()->setText(QStringLiteral("layout.zero_stage"), QStringLiteral("1"));
    window_->plan()->setText(QStringLiteral("layout.pp"), QStringLiteral("2"));
    run();
    page_->model()->setStage(1);
    page_->model()->startIfStale();
    ASSERT_TRUE(wait([this] { return page_->model()->isFresh(); }, 10'000));
    EXPECT_EQ(page_->model()->timeline()->rank, 2);  // dp 2
}

TEST_F(MemoryPageTest, TheWheelZoomsToOnePointAndTheMouseTellsWhatItIs) {
    run();
    MemoryChart* chart = page_->chart();
    const MemoryTimeline& timeline = *page_->model()->timeline();
    const QPointF middle(chart->plotArea().center().x(), chart->height() / 3.0);
    const double whole = chart->span()->width();
    wheel(middle, 1);
    EXPECT_LT(chart->span()->width(), whole);
    for (int i = 0; i < 40; ++i) wheel(middle, 1);
    EXPECT_LE(chart->span()->width(), 3) << "a single op fills the chart";
    const auto point = chart->pointAt(middle);
    ASSERT_TRUE(point);
    const QString words = chart->pointText(*point);
    EXPECT_TRUE(words.contains(QString::fromStdString(timeline.ops[static_cast<std::size_t>(timeline.op[*point])])));
    EXPECT_TRUE(words.contains(bytesText(timeline.live_at(*point))));
    QTest::mouseDClick(chart, Qt::LeftButton, {}, middle.toPoint());
    EXPECT_TRUE(chart->span()->isWhole());
}

TEST_F(MemoryPageTest, TheFullestPointIsDrawnWhereItStands) {
    run();
    MemoryChart* chart = page_->chart();
    const MemoryTimeline& timeline = *page_->model()->timeline();
    const QImage image = chart->grab().toImage();
    const Theme& theme = Theme::of(chart->palette());
    const double x = chart->xOf(static_cast<double>(timeline.peak_event));
    // Right of the mark, within the pixel's column and a little under the top: the last category that is there.
    std::size_t last = memory_categories;
    const std::size_t point = *chart->pointAt({x + 0.5, chart->height() / 2.0});
    for (std::size_t c = 0; c < memory_categories; ++c)
        if (timeline.live[point][c] > 0) last = c;
    ASSERT_LT(last, memory_categories);
    const double bottom = chart->yOf(0) - 3;
    EXPECT_EQ(image.pixelColor((QPointF(x + 3, bottom) * image.devicePixelRatio()).toPoint()), theme.category[0]);
}

TEST_F(MemoryPageTest, ARefusalIsShownAsItsSentence) {
    qputenv("FAKE_DRY_RUN", "refuse");
    window_->showPage(PageId::Memory);
    waitForProblem();
    EXPECT_EQ(page_->status(), QStringLiteral("this plan cannot be run dry: it has no layers"));
    EXPECT_EQ(page_->model()->timeline(), nullptr);
    // The same plan isn't tried again by itself; the button tries it.
    qunsetenv("FAKE_DRY_RUN");
    QTest::qWait(600);
    EXPECT_EQ(page_->model()->timeline(), nullptr);
    QTest::mouseClick(page_->runButton(), Qt::LeftButton);
    EXPECT_TRUE(wait([this] { return page_->model()->isFresh(); }, 10'000));
}

TEST_F(MemoryPageTest, ACrashAFileThatIsNoneAndAMissingProgramAreSentences) {
    for (const auto& [mode, words] : {std::pair{"crash", "crashed"}, std::pair{"garbage", "version 7"}}) {
        qputenv("FAKE_DRY_RUN", mode);
        window_->showPage(PageId::Memory);
        page_->model()->start();
        waitForProblem();
        EXPECT_TRUE(page_->status().contains(QLatin1String(words))) << page_->status().toStdString();
    }
    page_->model()->setProgram(QStringLiteral("/nowhere/plimsoll"));
    page_->model()->start();
    waitForProblem();
    EXPECT_TRUE(page_->status().contains(QStringLiteral("/nowhere/plimsoll"))) << page_->status().toStdString();
}

TEST_F(MemoryPageTest, ARunCanBeCancelledAndEndsWithTheWindow) {
    qputenv("FAKE_DRY_RUN", "hang");
    window_->showPage(PageId::Memory);
    ASSERT_TRUE(wait([this] { return page_->model()->isRunning(); }, 5000));
    EXPECT_EQ(page_->runButton()->text(), QStringLiteral("Cancel"));
    QTest::mouseClick(page_->runButton(), Qt::LeftButton);
    EXPECT_FALSE(page_->model()->isRunning());
    EXPECT_TRUE(page_->status().contains(QStringLiteral("cancelled")));
    page_->model()->start();
    ASSERT_TRUE(page_->model()->isRunning());
    QElapsedTimer timer;
    timer.start();
    window_.reset();
    EXPECT_LT(timer.elapsed(), 2000);
}

TEST_F(MemoryPageTest, TheEnginesOwnDryRunIsShown) {
    page_->model()->setProgram(QStringLiteral(PLIMSOLL_BIN_DIR "/plimsoll"));
    openPlan(QStringLiteral("cpu-demo"));
    window_->showPage(PageId::Memory);
    ASSERT_TRUE(wait([this] { return page_->model()->isFresh() || !page_->model()->problem().isEmpty(); }, 60'000));
    ASSERT_TRUE(page_->model()->isFresh()) << page_->status().toStdString();
    const MemoryTimeline& timeline = *page_->model()->timeline();
    EXPECT_GT(timeline.events, 500);
    const MemoryEstimate& memory = *window_->plan()->numbers().memory;
    EXPECT_NEAR(static_cast<double>(timeline.peak), static_cast<double>(memory.fullest().total()),
                0.1 * static_cast<double>(memory.fullest().total()));
}

TEST_F(MemoryPageTest, SpeedOfFourThousandPoints) {
    MemoryTrace trace;
    trace.begin_phase("forward 0");
    const auto op = trace.op("aten::mm");
    for (int i = 0; i < 50'000; ++i)
        trace.allocate((1 + i % 97) * MiB, {static_cast<MemoryCategory>(i % 5), i % 32, op, trace.phase()});
    const auto replayed = replay(trace, {}, 1 << 30);
    MemoryChart chart;
    chart.resize(1200, 360);
    const auto timeline = std::make_shared<const MemoryTimeline>(make_timeline(trace, 0, nullptr));
    ASSERT_GT(timeline->event.size(), 3000U);
    chart.setTimeline(timeline, 0);
    chart.show();
    ASSERT_TRUE(QTest::qWaitForWindowExposed(&chart));
    std::vector<double> frames;
    for (int i = 0; i < 120; ++i) {
        QElapsedTimer timer;
        timer.start();
        chart.span()->zoom(i < 60 ? 1 / 1.05 : 1.05, 20'000);
        chart.repaint();
        frames.push_back(static_cast<double>(timer.nsecsElapsed()) / 1e6);
    }
    std::sort(frames.begin(), frames.end());
    std::cout << timeline->event.size() << " points, a frame: median " << frames[60] << " ms, worst " << frames.back()
              << " ms\n";
}

TEST_F(MemoryPageTest, ASmallWindowScrollsRatherThanSqueeze) {
    window_->resize(960, 620);
    window_->showPage(PageId::Memory);
    ASSERT_TRUE(wait([this] { return page_->model()->timeline() != nullptr; }, 20'000));
    EXPECT_TRUE(wait([this] { return page_->chart()->height() >= page_->chart()->minimumSizeHint().height(); }, 2'000))
        << page_->chart()->height();
}

TEST_F(MemoryPageTest, TheLegendTakesAsManyRowsAsItsNamesNeed) {
    const CategoryLegend legend;
    const int row = legend.heightForWidth(4'000);
    EXPECT_EQ(legend.heightForWidth(300) % row, 0);
    EXPECT_GT(legend.heightForWidth(300), 2 * row) << "seven names";
}

}  // namespace
}  // namespace plimsoll::ui
