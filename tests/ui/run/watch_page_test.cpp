// SPDX-License-Identifier: GPL-3.0-or-later
// The Watch page as a person sees it: plots, words, states, and the PNG files made of it.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <QAbstractButton>
#include <QComboBox>
#include <QDir>
#include <QFile>
#include <QImage>
#include <QLabel>
#include <QListView>
#include <QSignalSpy>
#include <QSlider>
#include <QTest>
#include <set>

#include "core/plan/plan_io.h"
#include "core/run/run_lock.h"
#include "tests/support/synthetic_run.h"
#include "ui/plots/bar_plot.h"
#include "ui/plots/line_plot.h"
#include "ui/run/event_list_model.h"
#include "ui/run/plot_export.h"
#include "ui/run/run_list_model.h"
#include "ui/run/run_model.h"
#include "ui/run/watch_card.h"
#include "ui/run/watch_notice.h"
#include "ui/run/watch_page.h"
#include "ui/run/watch_side.h"

namespace plimsoll::ui {
namespace {

QString pathOf(const RunFolder& run) { return QString::fromStdString(run.path().string()); }

struct Watch {
    RunModel model;
    WatchPage page{&model};
    Watch() {
        page.resize(1270, 720);
        page.show();
    }
    bool open(const RunFolder& run) {
        QSignalSpy caught_up(&model, &RunModel::caughtUp);
        model.open(pathOf(run));
        return waitFor([&] { return caught_up.count() > 0 && page.runs()->isRead(); });
    }
    QString notice() const {
        const auto* notice = page.findChild<WatchNotice*>();
        return notice->isHidden() ? QString() : notice->sentence();
    }
    QAbstractButton* noticeButton() const { return page.findChild<WatchNotice*>()->findChild<QAbstractButton*>(); }
    QStringList titles() const {
        QStringList titles;
        for (const LinePlot* plot : page.plots()) titles << plot->accessibleName();
        return titles;
    }
    bool says(const QString& text) const {
        for (const QLabel* label : page.findChildren<QLabel*>())
            if (label->isVisible() && label->text().contains(text)) return true;
        return false;
    }
};

std::size_t colours(const QImage& image) {
    std::set<QRgb> found;
    for (int y = 0; y < image.height(); y += 2)
        for (int x = 0; x < image.width(); x += 2) found.insert(image.pixel(x, y));
    return found.size();
}

TEST(WatchPage, ShowsEachPlotWithItsLatestFigure) {
    const RunStore store;
    const RunFolder run = store.add("demo", 2, 100);
    record(run, series::loss, 1, 51, [](auto step) { return 5.0 - 0.05 * static_cast<double>(step); });
    record(run, series::validation_loss, 50, 51, [](auto) { return 2.75; });
    record(run, series::grad_norm, 51, 52, [](auto) { return 0.412; });
    Watch watch;
    ASSERT_TRUE(watch.open(run));
    EXPECT_EQ(watch.titles(),
              (QStringList{"Loss", "Gradient norm", "Learning rate", "Tokens per second", "Memory", "Step time"}));
    EXPECT_TRUE(watch.says(QStringLiteral("2.500 · EMA ")));
    EXPECT_TRUE(watch.says(QStringLiteral("validation 2.750 at step 50")));
    EXPECT_TRUE(watch.says(QStringLiteral("0.412 · clipped at 1")));
    EXPECT_TRUE(watch.says(QStringLiteral("of 100 · 51 %")));
    const LinePlot* loss = watch.page.plots().front();
    EXPECT_EQ(loss->valueAt(0, 50), 2.5);
    EXPECT_EQ(loss->valueAt(1, 50), 2.75);
    EXPECT_TRUE(loss->accessibleDescription().contains(QStringLiteral("loss 2.500")))
        << loss->accessibleDescription().toStdString();
    EXPECT_TRUE(watch.notice().isEmpty()) << watch.notice().toStdString();
}

TEST(WatchPage, HoverShowsAValidationOnlyWhereThereWasOne) {
    const RunStore store;
    const RunFolder run = store.add("sparse", 1, 100);
    record(run, series::loss, 1, 61, [](auto) { return 2.5; });
    record(run, series::validation_loss, 50, 51, [](auto) { return 2.181; });
    Watch watch;
    ASSERT_TRUE(watch.open(run));
    const LinePlot* loss = watch.page.plots().front();
    EXPECT_FALSE(loss->readout(39).contains(QStringLiteral("validation"))) << loss->readout(39).toStdString();
    EXPECT_FALSE(loss->readout(60).contains(QStringLiteral("validation"))) << loss->readout(60).toStdString();
    EXPECT_TRUE(loss->readout(50).contains(QStringLiteral("validation 2.181"))) << loss->readout(50).toStdString();
}

TEST(WatchPage, SmoothingDrawsAnotherLineOverThePaleOne) {
    const RunStore store;
    const RunFolder run = store.add("smooth", 1, 100);
    record(run, series::loss, 1, 61, [](auto step) { return step % 2 == 0 ? 2.0 : 3.0; });
    Watch watch;
    ASSERT_TRUE(watch.open(run));
    auto* slider = watch.page.findChild<WatchCard*>()->smoothing();
    ASSERT_NE(slider, nullptr);
    slider->setValue(90);
    const LinePlot* loss = watch.page.plots().front();
    EXPECT_TRUE(loss->content().lines[0].faint);
    EXPECT_EQ(loss->content().lines[1].name, QStringLiteral("smoothed"));
    EXPECT_NEAR(*loss->valueAt(1, 60), 2.5, 0.06);
    slider->setValue(0);
    EXPECT_FALSE(loss->content().lines[0].faint);
}

TEST(WatchPage, TheSentenceAboutTheStartGoesWithTheFirstStep) {
    const RunStore store;
    const RunFolder run = store.add("starting", 1, 100);
    setState(run, RunStatus::Running);
    const auto lock = RunLock::take(run.lock_path());
    ASSERT_TRUE(lock);
    Watch watch;
    ASSERT_TRUE(watch.open(run));
    ASSERT_TRUE(waitFor([&] { return watch.notice().contains(QStringLiteral("are starting")); }));
    record(run, series::loss, 1, 3, [](auto) { return 2.5; });
    ASSERT_TRUE(waitFor([&] { return watch.model.find(series::loss) != nullptr; }));
    EXPECT_FALSE(watch.notice().contains(QStringLiteral("are starting"))) << watch.notice().toStdString();
}

TEST(WatchPage, LossScaleIsShownForHalfPrecisionOnly) {
    const RunStore store;
    const RunFolder run = store.add("fp16", 1, 100);
    auto plan = run.plan();
    ASSERT_TRUE(plan.has_value());
    plan->numerics.dtype = Dtype::Fp16;
    ASSERT_TRUE(save_plan(run.plan_path(), *plan).has_value());
    record(run, series::loss_scale, 1, 20, [](auto step) { return step < 10 ? 65536.0 : 32768.0; });
    recordEvent(
        run,
        {.step = 10, .time = 1e9, .kind = EventKind::Overflow, .sentence = "fp16 overflow; scale 65,536 to 32,768"});
    Watch watch;
    ASSERT_TRUE(watch.open(run));
    ASSERT_TRUE(watch.titles().contains(QStringLiteral("Loss scale")));
    const LinePlot* scale = watch.page.plots()[watch.titles().indexOf(QStringLiteral("Loss scale"))];
    ASSERT_EQ(scale->content().flags.size(), 1U);
    EXPECT_EQ(scale->content().flags[0].step, 10);
    EXPECT_EQ(scale->valueAt(0, 19), 32768);
}

TEST(WatchPage, WhatIsAddedToTheLossIsShownWhereTheRunHasIt) {
    const RunStore store;
    const RunFolder run = store.add("experts", 1, 100);
    auto plan = run.plan();
    ASSERT_TRUE(plan.has_value());
    plan->model.num_experts = 4;
    ASSERT_TRUE(save_plan(run.plan_path(), *plan).has_value());
    record(run, series::router_loss, 1, 20, [](auto) { return 0.25; });
    Watch watch;
    ASSERT_TRUE(watch.open(run));
    ASSERT_TRUE(watch.titles().contains(QStringLiteral("Added to the loss")));
    const LinePlot* added = watch.page.plots()[watch.titles().indexOf(QStringLiteral("Added to the loss"))];
    ASSERT_EQ(added->content().lines.size(), 1U) << "the plan has no z-loss";
    EXPECT_EQ(added->content().lines[0].name, QStringLiteral("router loss"));
    EXPECT_EQ(added->valueAt(0, 19), 0.25);
    EXPECT_TRUE(watch.says(QStringLiteral("router 0.250")));
}

TEST(WatchPage, GradientNormsFlagEveryFindingOfTheGuard) {
    const RunStore store;
    const RunFolder run = store.add("findings", 1, 100);
    record(run, series::grad_norm, 1, 100, [](auto) { return 1.0; });
    const std::vector<EventKind> kinds{EventKind::Checkpoint, EventKind::Spike,    EventKind::LossSpike,
                                       EventKind::Nonfinite,  EventKind::Rollback, EventKind::Damaged};
    for (std::size_t i = 0; i < kinds.size(); ++i)
        recordEvent(run, {.step = 10 * (i + 1),
                          .time = 1e9 + static_cast<double>(i),
                          .kind = kinds[i],
                          .sentence = {},
                          .details = i == 2 ? Json{{"lr_factor", 0.8}} : Json::object()});
    Watch watch;
    ASSERT_TRUE(watch.open(run));
    const auto flags = [&](const QString& title) {
        QStringList all;
        for (const PlotFlag& flag : watch.page.plots()[watch.titles().indexOf(title)]->content().flags)
            all << QStringLiteral("%1 %2").arg(flag.step).arg(flag.label);
        return all;
    };
    EXPECT_EQ(flags(QStringLiteral("Gradient norm")),
              (QStringList{"20 spike", "30 loss spike", "40 not finite", "50 rolled back"}));
    EXPECT_EQ(flags(QStringLiteral("Learning rate")), (QStringList{"30 loss spike"})) << "the rate was cut there";
    EXPECT_EQ(flags(QStringLiteral("Loss")), (QStringList{"10 checkpoint", "20 spike", "30 loss spike", "40 not finite",
                                                          "50 rolled back", "60 damaged"}));
}

TEST(WatchPage, LearningRateAheadIsTheSchedulesOwn) {
    const RunStore store;
    const RunFolder run = store.add("rate", 1, 300);
    record(run, series::lr, 1, 10, [](auto) { return 1e-4; });
    Watch watch;
    ASSERT_TRUE(watch.open(run));
    const LinePlot* rate = watch.page.plots()[watch.titles().indexOf(QStringLiteral("Learning rate"))];
    ASSERT_TRUE(rate->content().planned != nullptr);
    // Peak 1e-3 after 20 updates of warm-up, half-cosine to a tenth at the last of 300. Step 1 is the first update.
    EXPECT_DOUBLE_EQ(rate->content().planned(1), 1e-3 / 20);
    EXPECT_DOUBLE_EQ(rate->content().planned(20), 1e-3);
    EXPECT_NEAR(rate->content().planned(300), 1e-4, 1e-12);
}

TEST(WatchPage, WhatARollbackLeftStaysOnThePlotAtItsOwnStepsOnly) {
    const RunStore store;
    const RunFolder run = store.add("forked", 1, 100);
    record(run, series::loss, 1, 41, [](auto step) { return step > 30 ? 9.0 : 3.0; });
    Watch watch;
    ASSERT_TRUE(watch.open(run));
    const LinePlot* loss = watch.page.plots()[watch.titles().indexOf(QStringLiteral("Loss"))];
    ASSERT_EQ(loss->content().lines.size(), 2U);
    // Back to step 30, then on without the batch, while the page looks.
    record(run, series::loss, 31, 61, [](auto) { return 2.5; });
    ASSERT_TRUE(waitFor([&] { return loss->content().lines.size() == 3 && loss->valueAt(0, 60) == 2.5; }));
    const PlotLine& left = loss->content().lines[2];
    EXPECT_TRUE(left.faint);
    EXPECT_EQ(left.category, loss->content().lines[0].category);
    EXPECT_EQ(left.name, QStringLiteral("before resume (to step 40)"));
    EXPECT_EQ(loss->valueAt(0, 35), 2.5);
    EXPECT_EQ(loss->valueAt(2, 35), 9.0);
    EXPECT_TRUE(loss->readout(35).contains(QStringLiteral("before resume (to step 40) 9")))
        << loss->readout(35).toStdString();
    for (const double outside : {30.0, 41.0}) EXPECT_EQ(loss->valueAt(2, outside), std::nullopt) << outside;
    // The same from the history.
    Watch later;
    ASSERT_TRUE(later.open(run));
    const LinePlot* again = later.page.plots()[later.titles().indexOf(QStringLiteral("Loss"))];
    ASSERT_EQ(again->content().lines.size(), 3U);
    EXPECT_EQ(again->valueAt(2, 35), 9.0);
}

TEST(WatchPage, AnEventClickedPutsTheCursorOnItsStep) {
    const RunStore store;
    const RunFolder run = store.add("events", 1, 100);
    record(run, series::loss, 1, 100, [](auto) { return 1.0; });
    recordEvent(run, {.step = 40, .time = 1e9, .kind = EventKind::Checkpoint, .sentence = "Checkpoint"});
    recordEvent(run, {.step = 70, .time = 1e9 + 1, .kind = EventKind::Error, .sentence = "Loss is not finite"});
    Watch watch;
    ASSERT_TRUE(watch.open(run));
    auto* side = watch.page.findChild<WatchSide*>();
    ASSERT_EQ(side->events()->rowCount(), 2);
    QListView* view = side->eventView();
    QTest::mouseClick(view->viewport(), Qt::LeftButton, {}, view->visualRect(side->events()->index(1)).center());
    EXPECT_EQ(watch.page.axis()->cursor(), 40);
}

TEST(WatchPage, WithoutRunsItOffersToTrain) {
    const RunStore store;
    Watch watch;
    ASSERT_TRUE(waitFor([&] { return watch.page.runs()->isRead(); }));
    EXPECT_EQ(watch.notice(), QStringLiteral("No run yet. Train starts one from the plan and shows it here."));
    QSignalSpy train(&watch.page, &WatchPage::trainRequested);
    QTest::mouseClick(watch.noticeButton(), Qt::LeftButton);
    EXPECT_EQ(train.count(), 1);
}

TEST(WatchPage, AFailedRunSaysWhyAndKeepsItsPlots) {
    const RunStore store;
    const RunFolder run = store.add("failed", 2, 100);
    record(run, series::loss, 1, 10, [](auto) { return 1.0; });
    setState(run, RunStatus::Failed, "rank 1 was killed by signal 9: out of memory? Lower layout.micro_batch.");
    Watch watch;
    ASSERT_TRUE(watch.open(run));
    EXPECT_TRUE(watch.notice().startsWith(QStringLiteral("Rank 1 was killed by signal 9: out of memory? Lower ")))
        << watch.notice().toStdString();
    EXPECT_EQ(watch.noticeButton()->text(), QStringLiteral("Show the log"));
    EXPECT_EQ(watch.page.plots().front()->valueAt(0, 9), 1.0);
    EXPECT_TRUE(watch.page.plots().front()->isVisible());
}

TEST(WatchPage, AVanishedRunOffersTheNewest) {
    const RunStore store;
    const RunFolder run = store.add("gone", 1, 100, 5);
    const RunFolder other = store.add("other", 1, 100, 50);
    record(run, series::loss, 1, 10, [](auto) { return 1.0; });
    record(other, series::loss, 1, 10, [](auto) { return 2.0; });
    Watch watch;
    ASSERT_TRUE(watch.open(run));
    std::filesystem::remove_all(run.path());
    ASSERT_TRUE(
        waitFor([&] { return watch.notice().contains(QStringLiteral("gone")) && watch.page.runs()->rowCount() == 1; }));
    QTest::mouseClick(watch.noticeButton(), Qt::LeftButton);
    EXPECT_EQ(watch.model.runPath(), pathOf(other));
}

TEST(WatchPage, ThePickerOpensTheChosenRun) {
    const RunStore store;
    const RunFolder first = store.add("first", 1, 100, 500), second = store.add("second", 1, 100, 5);
    record(first, series::loss, 1, 10, [](auto) { return 1.0; });
    Watch watch;
    ASSERT_TRUE(watch.open(second));
    auto* picker = watch.page.findChild<QComboBox*>();
    ASSERT_TRUE(waitFor([&] { return picker->count() == 2; }));
    EXPECT_EQ(picker->currentText(), QStringLiteral("second"));
    picker->setCurrentIndex(1);
    emit picker->activated(1);
    EXPECT_EQ(watch.model.runPath(), pathOf(first));
    ASSERT_TRUE(waitFor([&] { return watch.model.find(series::loss) != nullptr; }));
}

TEST(WatchPage, EveryControlHasAnAccessibleName) {
    const RunStore store;
    const RunFolder run = store.add("names", 1, 100);
    record(run, series::loss, 1, 10, [](auto) { return 1.0; });
    Watch watch;
    ASSERT_TRUE(watch.open(run));
    int checked = 0;
    for (const QWidget* widget : watch.page.findChildren<QWidget*>()) {
        if (widget->focusPolicy() == Qt::NoFocus || !widget->isVisible()) continue;
        if (widget->objectName().startsWith(QStringLiteral("qt_")) || widget->inherits("QScrollArea")) continue;
        if (widget->parentWidget() != nullptr && widget->parentWidget()->inherits("QAbstractScrollArea")) continue;
        ++checked;
        EXPECT_FALSE(widget->accessibleName().isEmpty()) << widget->metaObject()->className();
    }
    EXPECT_GE(checked, 8);
}

TEST(PlotExport, WritesEveryPlotAndASheetWithDrawnContent) {
    const RunStore store;
    const RunFolder run = store.add("export", 2, 100);
    for (const char* name : {series::loss, series::grad_norm, series::lr, series::tokens_per_second, series::memory,
                             series::memory_peak, series::step_time})
        record(run, name, 1, 80, [](auto step) { return 1e-3 * (2 + std::sin(static_cast<double>(step))); });
    QTemporaryDir out;
    const QPalette palette = QApplication::palette();
    const QString sheet = qApp->styleSheet();
    for (const bool dark : {false, true}) {
        const QString dir = out.filePath(dark ? QStringLiteral("dark") : QStringLiteral("light/deep"));
        const QStringList files = renderPlots(pathOf(run), dir, dark);
        ASSERT_EQ(files.size(), 7);
        EXPECT_TRUE(files.front().endsWith(QStringLiteral("/overview.png")));
        for (const QString& file : files) {
            const QImage image(file);
            ASSERT_FALSE(image.isNull()) << file.toStdString();
            EXPECT_GE(image.width(), 1800);
            EXPECT_GT(colours(image), 20U) << file.toStdString() << " is blank";
            EXPECT_EQ(image.pixelColor(2, image.height() - 3).lightness() < 128, dark) << file.toStdString();
        }
    }
    EXPECT_EQ(QApplication::palette(), palette);
    EXPECT_EQ(qApp->styleSheet(), sheet);
}

TEST(PlotExport, SaysWhatIsWrong) {
    const RunStore store;
    QTemporaryDir out;
    QString problem;
    EXPECT_TRUE(renderPlots(QStringLiteral("/nowhere/run"), out.path(), false, &problem).isEmpty());
    EXPECT_TRUE(problem.contains(QStringLiteral("/nowhere/run"))) << problem.toStdString();
    problem.clear();
    EXPECT_TRUE(renderPlots(QStringLiteral("/nowhere/run"), QStringLiteral("/proc/none"), false, &problem).isEmpty());
    EXPECT_TRUE(problem.contains(QStringLiteral("/proc/none"))) << problem.toStdString();
}

}  // namespace
}  // namespace plimsoll::ui
