// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/memory/measured_memory.h"

#include <gtest/gtest.h>

#include <numeric>
#include <QImage>

#include "tests/support/synthetic_run.h"
#include "ui/memory/measured_bars.h"
#include "ui/run/run_model.h"

namespace plimsoll::ui {
namespace {

Event memoryEvent(int rank, Bytes activations) {
    const Bytes peak = 5 * MiB + activations;
    return {
        2,
        0,
        EventKind::Memory,
        "",
        {{"rank", rank},
         {"peak", peak},
         {"categories",
          {{"Parameters", 3 * MiB}, {"Gradients", 2 * MiB}, {"Optimizer + master", 0}, {"Activations", activations}}}}};
}

TEST(MeasuredMemoryOf, TakesTheFullestRanksEventAndItsKinds) {
    RunStore store;
    const RunFolder run = store.add("a");
    record(run, series::memory_peak, 1, 10, [](std::uint64_t) { return 1e6; });
    recordEvent(run, memoryEvent(0, 7 * MiB));
    recordEvent(run, memoryEvent(1, 9 * MiB));
    RunModel model;
    model.open(QString::fromStdString(run.path().string()));
    ASSERT_TRUE(waitFor([&] { return !model.isLoading() && model.events().size() >= 2; }));
    const auto memory = measuredMemory(model);
    ASSERT_TRUE(memory);
    EXPECT_EQ(memory->rank, 1);
    EXPECT_EQ(memory->measured, 14 * MiB);
    ASSERT_TRUE(memory->by_kind);
    EXPECT_EQ((*memory->by_kind)[static_cast<std::size_t>(Category::Activations)], 9 * MiB);
    const auto& predicted = model.predictedKinds()[1];
    EXPECT_EQ(memory->predicted, std::accumulate(predicted.begin(), predicted.end() - 1, Bytes{0}));
    EXPECT_EQ(memory->predicted_by_kind, predicted) << "on the CPU there is no overhead to leave out";
    EXPECT_EQ(measuredWhere(*memory), QStringLiteral("Rank 1 in step 2"));
    MeasuredMemory other = *memory;
    other.measured = 2 * other.predicted;
    EXPECT_EQ(measuredWords(other), QStringLiteral("predicted 50.0 % too little"));
    other.measured = other.predicted;
    EXPECT_EQ(measuredWords(other), QStringLiteral("as predicted"));

    MeasuredBars bars;
    bars.resize(300, 58);
    bars.setMemory(*memory);
    const QImage drawn = bars.grab().toImage();
    EXPECT_NE(drawn, MeasuredBars().grab().toImage());
    EXPECT_TRUE(bars.accessibleDescription().contains(QStringLiteral("14.0")));
}

TEST(MeasuredMemoryOf, WithoutEventsThePeakOfTheSeriesStands) {
    RunStore store;
    const RunFolder run = store.add("b");
    record(run, series::memory_peak, 1, 10, [](std::uint64_t step) { return 1e6 * static_cast<double>(step); });
    record(
        run, series::memory_peak, 1, 10, [](std::uint64_t step) { return 2e6 * static_cast<double>(step); }, 1);
    RunModel model;
    model.open(QString::fromStdString(run.path().string()));
    ASSERT_TRUE(waitFor([&] { return !model.isLoading() && model.find(series::memory_peak, 1); }));
    const auto memory = measuredMemory(model);
    ASSERT_TRUE(memory);
    EXPECT_EQ(memory->rank, 1);
    EXPECT_EQ(memory->measured, 18'000'000);
    EXPECT_FALSE(memory->by_kind);
    EXPECT_GT(memory->predicted, 0);
}

TEST(MeasuredMemoryOf, NothingBeforeTheFirstFigureAndNothingOfADamagedEvent) {
    RunStore store;
    const RunFolder run = store.add("c");
    record(run, series::loss, 1, 3, [](std::uint64_t) { return 1.0; });
    recordEvent(run, {1, 0, EventKind::Memory, "", {{"peak", "much"}, {"categories", 3}}});
    RunModel model;
    model.open(QString::fromStdString(run.path().string()));
    ASSERT_TRUE(waitFor([&] { return !model.isLoading() && !model.events().empty(); }));
    EXPECT_FALSE(measuredMemory(model));
}

}  // namespace
}  // namespace plimsoll::ui
