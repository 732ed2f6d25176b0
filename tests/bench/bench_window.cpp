// SPDX-License-Identifier: GPL-3.0-or-later
// bin/bench_window: how long a person waits, measured and printed. Never asserted, since the machine decides; what an
// edit may cost in operations is edit_budget_test.cpp's.
#include <algorithm>
#include <cmath>
#include <iostream>

#include "tests/support/gui_fixture.h"
#include "ui/pipeline/gantt.h"
#include "ui/pipeline/pipeline_page.h"
#include "ui/plan/layout_page.h"
#include "ui/planner/planner_page.h"
#include "ui/planner/planner_table.h"
#include "ui/plots/line_plot.h"
#include "ui/waterline/remedies_panel.h"

namespace plimsoll::ui {
namespace {

void report(const std::string& what, std::vector<double> times) {
    std::sort(times.begin(), times.end());
    std::cout << what << ": median " << times[times.size() / 2] << " ms, worst " << times.back() << " ms\n";
}

double ms(const QElapsedTimer& timer) { return static_cast<double>(timer.nsecsElapsed()) / 1e6; }

/// From the edit until the window has nothing left to lay out or paint.
double redraw(MainWindow& window, const QString& key, const QString& value) {
    Paints paints(window.waterline()->bars());
    QElapsedTimer timer;
    timer.start();
    window.plan()->setText(key, value);
    do QCoreApplication::processEvents();
    while (paints.count == 0 && timer.elapsed() < 2000);
    QCoreApplication::sendPostedEvents();
    const double took = ms(timer);
    window.plan()->endEdit();
    return took;
}

TEST_F(GuiTest, SpeedOfTheRedrawOfAnEdit) {
    window_->resize(1440, 900);
    openPlan(QStringLiteral("llama-2-70b-64xh100"));
    for (const PageId page : {PageId::Model, PageId::Layout, PageId::Recipe, PageId::Export, PageId::Watch}) {
        window_->showPage(page);
        QTest::qWait(200);
        for (const auto& [key, first, second] :
             {std::tuple{"layout.micro_batch", "2", "1"}, std::tuple{"layout.pp", "4", "2"}}) {
            std::vector<double> times;
            for (int i = 0; i < 20; ++i)
                times.push_back(
                    redraw(*window_, QString::fromLatin1(key), QString::fromLatin1(i % 2 ? second : first)));
            report(pageName(page).toStdString() + ", " + key, times);
        }
    }
    // With everything open that follows the plan.
    window_->showPage(PageId::Layout);
    qobject_cast<LayoutPage*>(window_->pageWidget(PageId::Layout))->keepBaseline()->setChecked(true);
    window_->remedies()->show();
    QTest::qWait(200);
    std::vector<double> open;
    for (int i = 0; i < 20; ++i)
        open.push_back(redraw(*window_, QStringLiteral("layout.micro_batch"), QString::number(2 - i % 2)));
    report("Layout with comparison and remedies, layout.micro_batch", open);

    std::vector<double> numbers;
    for (int i = 0; i < 20; ++i) {
        QElapsedTimer timer;
        timer.start();
        (void)computeNumbers(plan());
        numbers.push_back(ms(timer));
    }
    report("of that the numbers alone", numbers);
}

TEST_F(GuiTest, SpeedOfTheRedrawOfAPipeline) {
    window_->resize(1440, 900);
    openPlan(QStringLiteral("llama-2-70b-64xh100"));
    window_->showPage(PageId::Pipeline);
    QTest::qWait(300);
    PipelinePage* page = window_->pipelinePage();
    for (const auto& [ranks, microBatches] : {std::pair{8, 64}, std::pair{64, 512}}) {
        for (const Schedule schedule : {Schedule::OneFOneB, Schedule::ZbH1, Schedule::Interleaved, Schedule::ZbV}) {
            std::vector<double> times, simulation;
            for (int i = 0; i < 12; ++i) {
                WhatIf tried = page->model()->tried();
                tried.planTimes = false;
                tried.schedule = schedule;
                tried.ranks = ranks;
                tried.microBatches = microBatches - i % 2 * ranks;
                Paints paints(page->gantt());
                QElapsedTimer timer;
                timer.start();
                page->model()->tryOut(tried);
                do QCoreApplication::processEvents();
                while (paints.count == 0 && timer.elapsed() < 2000);
                times.push_back(ms(timer));
                timer.restart();
                (void)simulateWhatIf(tried, plan());
                simulation.push_back(ms(timer));
            }
            const std::string what = std::string("Pipeline page, ") + schedule_title(schedule) + " " +
                                     std::to_string(ranks) + " x " + std::to_string(microBatches);
            report(what, times);
            report("of that the simulation", simulation);
        }
    }
}

TEST_F(GuiTest, SpeedOfThePlanner) {
    window_->resize(1440, 900);
    for (const char* name : {"llama-7b-4xa100", "llama-2-70b-64xh100"}) {
        openPlan(QString::fromLatin1(name));
        PlannerPage* page = window_->plannerPage();
        std::vector<double> first, whole, blocked;
        for (int i = 0; i < 10; ++i) {
            window_->showPage(PageId::Layout);
            // Another question each time.
            window_->plan()->setText(QStringLiteral("data.sequence_length"), QString::number(2048 + 64 * i));
            window_->plan()->endEdit();
            QCoreApplication::processEvents();
            QElapsedTimer timer, turn;
            timer.start();
            window_->showPage(PageId::Planner);
            double longest = 0;
            bool rows = false;
            while (timer.elapsed() < 20'000 && page->model()->isSearching()) {
                turn.start();
                QCoreApplication::processEvents();
                longest = std::max(longest, ms(turn));
                if (rows || page->model()->isStale() || page->table()->rows().empty()) continue;
                rows = true;
                first.push_back(ms(timer));
            }
            whole.push_back(ms(timer));
            blocked.push_back(longest);
        }
        if (!first.empty()) report(std::string("Planner, ") + name + ", first rows", first);
        report("until the search has ended", whole);
        report("of that the longest turn of the window", blocked);
    }
}

TEST_F(GuiTest, SpeedOfALivePlotOfAMillionPoints) {
    for (const bool smooth : {false, true}) {
        Pyramid data;
        const auto value = [smooth](std::uint64_t i) {
            const auto x = static_cast<double>(i);
            return 2.0 + 9.0 / (1.0 + x / 2e4) + (smooth ? 0.0 : 0.1 * std::sin(x * 12.9898) * std::sin(x * 78.233));
        };
        std::uint64_t step = 0;
        for (; step < 1'000'000; ++step) data.append({.step = step, .time = 0, .value = value(step)});
        StepAxis axis;
        LinePlot plot(QStringLiteral("Loss"), &axis);
        plot.resize(900, 300);
        PlotContent content;
        content.lines = {{.name = QStringLiteral("loss"), .data = [&data] { return &data; }}};
        plot.setContent(std::move(content));
        plot.show();
        ASSERT_TRUE(QTest::qWaitForWindowExposed(&plot));
        std::vector<double> frames;
        for (int i = 0; i < 120; ++i, ++step) {
            QElapsedTimer timer;
            timer.start();
            data.append({.step = step, .time = 0, .value = value(step)});
            axis.setRun(static_cast<double>(step), 2'000'000);
            plot.dataChanged();
            plot.repaint();
            frames.push_back(ms(timer));
        }
        report(smooth ? "smooth line, a frame" : "noisy line, a frame", frames);
    }
}

}  // namespace
}  // namespace plimsoll::ui
