// SPDX-License-Identifier: Apache-2.0
#include "core/telemetry/series_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "core/telemetry/writer.h"
#include "tests/support/growth.h"
#include "tests/support/temp_folder.h"

namespace plimsoll {
namespace {

TEST(SeriesStore, RanksOfARunStayApart) {
    SeriesStore store;
    TelemetryBatch batch;
    batch.units[series::memory] = "B";
    batch.points[series::memory] = {{1, 0, 100}};
    store.apply(batch, 0);
    batch.points[series::memory] = {{1, 0, 200}};
    store.apply(batch, 1);
    EXPECT_EQ(store.find(series::memory)->value(0), 100);
    EXPECT_EQ(store.find("memory@1")->value(0), 200);
    EXPECT_EQ(store.find("memory@2"), nullptr);
    EXPECT_EQ(store.unit("memory@1"), "B");
    EXPECT_EQ(store.unit(series::loss), "");
}

TEST(SeriesStore, ResumedRunCutsEverySeriesOfItsRankAndNoOther) {
    const TempFolder folder;
    auto writer = TelemetryWriter::open(folder / "rank-0.rec");
    TelemetryReader reader(folder / "rank-0.rec");
    SeriesStore store;
    for (std::uint64_t step = 1; step <= 100; ++step) ASSERT_TRUE(writer->points(step, 1, {{series::loss, 1}}));
    ASSERT_TRUE(writer->points(100, 1, {{series::validation_loss, 1}}));
    store.apply(*reader.poll(), 0);
    TelemetryBatch other;
    other.points[series::step_time] = {{100, 1, 0.5}};
    store.apply(other, 1);

    ASSERT_TRUE(writer->points(51, 2, {{series::loss, 2}}));
    store.apply(*reader.poll(), 0);
    EXPECT_EQ(store.find(series::loss)->size(), 51U);
    EXPECT_EQ(store.find(series::loss)->value(50), 2);
    EXPECT_EQ(store.find(series::validation_loss)->size(), 0U);
    EXPECT_EQ(store.find("step_time@1")->size(), 1U);
    EXPECT_EQ(store.last_step(), 100U);
}

TEST(SeriesStore, PaceIsOfTheLatestStartAlone) {
    SeriesStore store;
    EXPECT_EQ(store.latest_start(), 0);
    EXPECT_FALSE(store.seconds_a_step());
    TelemetryBatch batch;
    batch.events = {{0, 100, EventKind::Start, "", {}}};
    for (std::uint64_t step = 1; step <= 20; ++step)
        batch.points[series::loss].push_back({step, 100 + 2.0 * static_cast<double>(step), 1});
    store.apply(batch);
    EXPECT_DOUBLE_EQ(*store.seconds_a_step(), 2);

    // Down for an hour, then twice as fast.
    TelemetryBatch resumed;
    resumed.events = {{20, 3740, EventKind::Resume, "", {}}};
    resumed.points[series::loss] = {{21, 3741, 1}};
    store.apply(resumed);
    EXPECT_EQ(store.latest_start(), 3740);
    EXPECT_FALSE(store.seconds_a_step()) << "one step tells no pace";
    TelemetryBatch more;
    for (std::uint64_t step = 22; step <= 24; ++step)
        more.points[series::loss].push_back({step, 3720 + static_cast<double>(step), 1});
    store.apply(more);
    EXPECT_DOUBLE_EQ(*store.seconds_a_step(), 1);

    // The last 50 steps count.
    TelemetryBatch slow;
    for (std::uint64_t step = 25; step <= 80; ++step)
        slow.points[series::loss].push_back({step, 3744 + 3.0 * static_cast<double>(step - 24), 1});
    store.apply(slow);
    EXPECT_DOUBLE_EQ(*store.seconds_a_step(), 3);
}

TEST(SeriesStore, EventsOfSeveralFilesAreInOrderOfTime) {
    SeriesStore store;
    TelemetryBatch batch;
    batch.events = {{1, 10, EventKind::Start, "", {}}, {5, 30, EventKind::End, "", {}}};
    store.apply(batch, 0);
    batch.events = {{0, 5, EventKind::Supervise, "", {}}, {0, 20, EventKind::Stop, "", {}}};
    store.apply(batch, -1);
    std::string order;
    for (const Event& event : store.events()) order += event.kind.name() + " ";
    EXPECT_EQ(order, "supervise start stop end ");
}

TEST(SeriesStore, ReplacedFileTakesItsOldPointsAndEventsAway) {
    SeriesStore store;
    TelemetryBatch batch;
    batch.points[series::loss] = {{1, 1, 1}};
    batch.events = {{1, 1, EventKind::Start, "", {}}};
    store.apply(batch, 0);
    store.apply(batch, 1);
    TelemetryBatch anew;
    anew.replaced = true;
    store.apply(anew, 0);
    EXPECT_EQ(store.find(series::loss), nullptr);
    EXPECT_EQ(store.find("loss@1")->size(), 1U);
    EXPECT_EQ(store.events().size(), 1U);
}

TelemetryBatch falling(std::size_t events) {
    TelemetryBatch batch;
    for (std::size_t i = 0; i < events; ++i)
        batch.events.push_back({i, static_cast<double>(events - i), EventKind::Checkpoint, "", {}});
    return batch;
}

TEST(SeriesStore, EventsOfAnyOrderAreSortedInTimeThatGrowsWithThem) {
    SeriesStore store;
    store.apply(falling(1000), 0);
    store.apply(falling(1000), 1);
    ASSERT_EQ(store.events().size(), 2000U);
    EXPECT_TRUE(std::is_sorted(store.events().begin(), store.events().end(),
                               [](const Event& a, const Event& b) { return a.time < b.time; }));
    EXPECT_EQ(store.events()[0].step, 999U);
    EXPECT_LT(growth<TelemetryBatch>(20'000, falling, [](const TelemetryBatch& batch) { SeriesStore().apply(batch); }),
              quadratic_growth);
}

TEST(SeriesStore, ATimeThatIsNoNumberComesFirst) {
    SeriesStore store;
    TelemetryBatch batch;
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (const double time : {3.0, nan, 1.0, nan, 2.0})
        batch.events.push_back({static_cast<std::uint64_t>(batch.events.size()), time, EventKind::Stop, "", {}});
    store.apply(batch);
    std::string steps;
    for (const Event& event : store.events()) steps += std::to_string(event.step);
    EXPECT_EQ(steps, "13240");
}

}  // namespace
}  // namespace plimsoll
