// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "core/allocator/timeline_file.h"
#include "core/base/file.h"
#include "core/base/json.h"

namespace plimsoll {
namespace {

using testing::HasSubstr;

MemoryLabel label(MemoryCategory category, std::int32_t layer, std::int32_t op, std::int32_t phase) {
    return {category, layer, op, phase};
}

/// Weights that stand, then a step: two activations of a layer, logits beside them, all freed again.
MemoryTrace small_step(std::size_t& begin) {
    MemoryTrace trace;
    const auto mm = trace.op("aten::mm"), softmax = trace.op("aten::_log_softmax");
    trace.allocate(1000, label(MemoryCategory::Parameters, 0, 0, 0));
    begin = trace.events().size();
    const auto forward = trace.begin_phase("forward 0");
    const auto a = trace.allocate(100, label(MemoryCategory::Activations, 0, mm, forward));
    const auto b = trace.allocate(100, label(MemoryCategory::Activations, 0, mm, forward));
    const auto logits = trace.allocate(300, label(MemoryCategory::Buffers, head_layer, softmax, forward));
    const auto backward = trace.begin_phase("backward 0");
    trace.free(logits);
    const auto g = trace.allocate(250, label(MemoryCategory::Gradients, 0, mm, backward));
    for (const auto block : {a, b, g}) trace.free(block);
    return trace;
}

TEST(MemoryTimeline, TellsWhatStandsAtThePeak) {
    std::size_t begin = 0;
    const MemoryTrace trace = small_step(begin);
    const MemoryTimeline timeline = make_timeline(trace, begin, nullptr);
    EXPECT_EQ(timeline.events, 8);
    EXPECT_EQ(timeline.peak, 1500);
    EXPECT_EQ(timeline.peak_event, 2);
    EXPECT_EQ(timeline.at_peak, (CategoryBytes{1000, 0, 0, 200, 300}));
    ASSERT_EQ(timeline.standing.size(), 3U);
    EXPECT_EQ(timeline.standing[0].phase, "init");
    EXPECT_EQ(timeline.standing[1].layer, "head");
    EXPECT_EQ(timeline.standing[2].op, "aten::mm");
    EXPECT_EQ(timeline.standing[2].count, 2);
    EXPECT_EQ(timeline.standing[2].bytes, 200);
    ASSERT_EQ(timeline.phases.size(), 2U);
    EXPECT_EQ(timeline.phases[1].name, "backward 0");
    EXPECT_EQ(timeline.phases[1].event, 3);
    EXPECT_EQ(timeline.event.size(), 8U);
    EXPECT_EQ(timeline.live_at(7), 1000);
}

TEST(MemoryTimeline, DecimationKeepsEveryMaximum) {
    MemoryTrace trace;
    std::mt19937_64 random(3);
    std::vector<std::int32_t> held;
    std::vector<Bytes> live{0};
    for (int i = 0; i < 50'000; ++i) {
        if (!held.empty() && random() % 2 == 0) {
            const std::size_t at = random() % held.size();
            live.push_back(live.back() - trace.blocks()[static_cast<std::size_t>(held[at])].bytes);
            trace.free(held[at]);
            held.erase(held.begin() + static_cast<std::ptrdiff_t>(at));
        } else {
            held.push_back(trace.allocate(static_cast<Bytes>(random() % 1000), {}));
            live.push_back(live.back() + trace.blocks().back().bytes);
        }
    }
    const MemoryTimeline timeline = make_timeline(trace, 0, nullptr, 1000);
    EXPECT_LE(timeline.event.size(), 1000U);
    EXPECT_TRUE(std::is_sorted(timeline.event.begin(), timeline.event.end()));
    EXPECT_EQ(timeline.peak, *std::max_element(live.begin(), live.end()));
    Bytes most = 0;
    for (std::size_t i = 0; i < timeline.event.size(); ++i) {
        EXPECT_EQ(timeline.live_at(i), live[static_cast<std::size_t>(timeline.event[i]) + 1]);
        most = std::max(most, timeline.live_at(i));
    }
    EXPECT_EQ(most, timeline.peak);
}

TEST(MemoryTimeline, ReplayGivesTheReservedBytesOfEachEvent) {
    std::size_t begin = 0;
    const MemoryTrace trace = small_step(begin);
    const ReplayedTrace replayed = replay(trace, {}, GiB);
    ASSERT_EQ(replayed.reserved.size(), trace.events().size());
    EXPECT_EQ(replayed.reserved.front(), 2 * MiB);
    EXPECT_EQ(replayed.out_of_memory, "");
    const MemoryTimeline timeline = make_timeline(trace, begin, &replayed);
    EXPECT_EQ(timeline.peak_reserved, 2 * MiB);
    EXPECT_EQ(timeline.reserved.size(), timeline.event.size());
    const ReplayedTrace too_much = replay(trace, {}, MiB);
    EXPECT_EQ(too_much.out_of_memory_event, 0);
    EXPECT_THAT(too_much.out_of_memory, HasSubstr("out of memory"));
}

TEST(TimelineFile, ComesBackAsItWas) {
    std::size_t begin = 0;
    const MemoryTrace trace = small_step(begin);
    const ReplayedTrace replayed = replay(trace, {}, GiB);
    MemoryTimeline timeline = make_timeline(trace, begin, &replayed);
    timeline.plan = "demo";
    timeline.device = "A100";
    timeline.rank = 3;
    const auto path = std::filesystem::path(testing::TempDir()) / "timeline.json";
    ASSERT_TRUE(write_timeline(path, timeline));
    const auto read = read_timeline(path);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(timeline_json(*read), timeline_json(timeline));
    std::filesystem::remove(path);
}

TEST(TimelineFile, RefusesWhatIsDamaged) {
    std::size_t begin = 0;
    const Json good = timeline_json(make_timeline(small_step(begin), begin, nullptr));
    ASSERT_TRUE(timeline_from_json(good, "t"));
    const auto refused = [&](const char* pointer, const Json& value, const char* why) {
        Json bad = good;
        bad[Json::json_pointer(pointer)] = value;
        const auto read = timeline_from_json(bad, "t.json");
        ASSERT_FALSE(read) << pointer;
        EXPECT_THAT(read.error().message, HasSubstr("t.json"));
        EXPECT_THAT(read.error().message, HasSubstr(why)) << pointer;
        EXPECT_EQ(exit_code(read.error()), 2);
    };
    refused("/plimsoll_timeline", 2, "version");
    refused("/plan", 7, "plan");
    refused("/rank", -1, "rank");
    refused("/rank", 1e300, "rank");
    refused("/events", 18446744073709551615ULL, "events");
    refused("/series/event/3", 0, "order");
    refused("/series/op/0", 99, "op");
    refused("/series/op", Json::array(), "numbers");
    refused("/series/live/4", Json::array(), "live");
    refused("/series/live", Json::object(), "live");
    refused("/series/event", Json(std::vector<int>(20'001, 0)), "at most");
    refused("/peak/standing/0/category", 5, "category");
    refused("/peak/standing/0", "text", "lacks");
    refused("/peak", nullptr, "lacks");
    refused("/categories", Json::array(), "categories");
    EXPECT_FALSE(timeline_from_json(Json::array(), "t"));
    EXPECT_FALSE(read_timeline("/nowhere/at/all.json"));
}

}  // namespace
}  // namespace plimsoll
