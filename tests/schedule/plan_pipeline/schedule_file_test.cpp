// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/plan_pipeline/schedule_file.h"
#include "core/base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "core/base/file.h"
#include "core/plan/presets.h"
#include "core/schedule/generators/make_schedule.h"
#include "core/schedule/plan_pipeline/chrome_trace.h"
#include "core/schedule/plan_pipeline/plan_pipeline.h"
#include "core/schedule/plan_pipeline/plan_schedule.h"
#include "core/schedule/plan_pipeline/svg.h"
#include "core/schedule/stage_times.h"

namespace plimsoll {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ScheduleFile : public testing::Test {
protected:
    void SetUp() override {
        folder_ =
            std::filesystem::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
        std::filesystem::create_directories(folder_);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }
    std::filesystem::path file() const { return folder_ / "list.json"; }

    std::filesystem::path folder_;
};

std::string error_of(const std::string& text) {
    const auto schedule =
        parse_json(text, "list").and_then([](const Json& json) { return schedule_from_json(json, "list"); });
    return schedule ? "" : schedule.error().message;
}

std::string with_ops(const std::string& ops, const std::string& shape = R"("ranks":2,"micro_batches":1,"chunks":1)") {
    return R"({"plimsoll_schedule":1,)" + shape + R"(,"placement":"loop","ops":)" + ops + "}";
}

TEST_F(ScheduleFile, EveryScheduleComesBackAsItWas) {
    for (std::size_t k = 0; k < schedule_names.size(); ++k) {
        const auto made = *make_schedule(static_cast<Schedule>(k), {4, 8, 3});
        ASSERT_TRUE(write_schedule(file(), made));
        const auto read = read_schedule(file());
        ASSERT_TRUE(read) << schedule_names[k] << ": " << read.error().message;
        EXPECT_EQ(read->ranks, made.ranks);
        EXPECT_EQ(read->micro_batches, made.micro_batches);
        EXPECT_EQ(read->chunks, made.chunks);
        EXPECT_EQ(read->placement, made.placement);
        EXPECT_EQ(read->ops, made.ops) << schedule_names[k];
    }
}

TEST_F(ScheduleFile, SaysWhatIsWrong) {
    EXPECT_EQ(error_of("[]"), R"(list is no pipeline schedule: it has to start with "plimsoll_schedule": 1)");
    EXPECT_THAT(error_of(R"({"plimsoll":1})"), HasSubstr("is no pipeline schedule"));
    EXPECT_EQ(error_of(with_ops("[]", R"("ranks":2,"micro_batches":0,"chunks":1)")),
              "list: micro_batches has to be a whole number from 1 to 16777216");
    EXPECT_EQ(error_of(with_ops("[]", R"("ranks":2,"micro_batches":1)")),
              "list: chunks has to be a whole number from 1 to 16777216");
    EXPECT_THAT(error_of(with_ops("[]", R"("ranks":16777216,"micro_batches":16777216,"chunks":1)")),
                HasSubstr("more than the 16777216 that can be laid out"));
    EXPECT_EQ(error_of(R"({"plimsoll_schedule":1,"ranks":1,"micro_batches":1,"chunks":1,"placement":"u"})"),
              R"(list: placement has to be "loop" or "v", not "u")");
    EXPECT_EQ(error_of(with_ops(R"([["F0","B0"]])")), "list: ops has to hold one list of operations a rank, 2 of them");
    EXPECT_EQ(error_of(with_ops(R"([["F0","B0"],7])")), "list: the operations of rank 1 have to be a list, not 7");
    for (const char* wrong : {R"("F")", R"("f0")", R"("F-1")", R"("F0.0")", R"("F99999999999")", R"("")", "0", "[]"}) {
        EXPECT_THAT(error_of(with_ops(fmt::format(R"([["F0","B0"],[{}]])", wrong))),
                    HasSubstr("of rank 1 is no operation; they are written F3, B3 or W3"))
            << wrong;
    }
    EXPECT_THAT(error_of(with_ops(R"([["F0"],["F0"]])", R"("ranks":2,"micro_batches":1,"chunks":2)")),
                HasSubstr("with the chunk: F3.1"));
}

TEST_F(ScheduleFile, TheListIsProvenToRun) {
    EXPECT_EQ(error_of(with_ops(R"([["F0","B0"],["F0","B0"]])")), "");
    EXPECT_EQ(error_of(with_ops(R"([["F0","B0","W0"],["F0","B0"]])")), "") << "ranks may split their backward or not";
    EXPECT_THAT(error_of(with_ops(R"([["F0","B0"],["B0","F0"]])")), HasSubstr("list: the schedule never ends"));
    EXPECT_THAT(error_of(with_ops(R"([["F0","B0"],["F0"]])")), HasSubstr("rank 1 never runs the backward"));
    EXPECT_THAT(error_of(with_ops(R"([["F0","W0"],["F0","B0"]])")), HasSubstr("never runs the input backward"));
    EXPECT_THAT(error_of(with_ops(R"([["F7","B7","W7"],["F0","B0"]])")), HasSubstr("micro-batches run from 0 to 0"));
    EXPECT_THAT(error_of(with_ops(R"([["F0","F0","B0"],["F0","B0"]])")), HasSubstr("twice"));
}

TEST_F(ScheduleFile, NoMutilatedListCrashesTheReader) {
    const auto text = schedule_text(*make_schedule(Schedule::ZbV, {2, 4}));
    std::mt19937 random(5);
    static constexpr std::string_view bytes = "{}[]\",:0179.eE-FBW\\\xff";
    int runs = 0;
    for (int i = 0; i < 3000; ++i) {
        auto broken = text;
        for (int changes = 1 + static_cast<int>(random() % 3); changes > 0; --changes)
            broken[random() % broken.size()] = bytes[random() % bytes.size()];
        const auto schedule =
            parse_json(broken, "list").and_then([](const Json& json) { return schedule_from_json(json, "list"); });
        // What is read can run.
        if (schedule) {
            ++runs;
            EXPECT_TRUE(simulate(*schedule, StageTimes::uniform(schedule->stages(), 1, 1, 1)));
        } else {
            EXPECT_FALSE(schedule.error().message.empty());
        }
    }
    EXPECT_LT(runs, 1500);
}

Plan four_stages() {
    Plan plan;
    plan.model = model_preset("llama-7b").value();
    plan.layout.dp = 1;
    plan.layout.pp = 4;
    plan.layout.accumulation = 8;
    return plan;
}

TEST_F(ScheduleFile, ThePlanFollowsIt) {
    auto plan = four_stages();
    ASSERT_TRUE(write_schedule(file(), *make_schedule(Schedule::GPipe, {4, 8})));
    plan.layout.schedule_file = file().string();
    EXPECT_EQ(plan_schedule(plan)->ops, make_schedule(Schedule::GPipe, {4, 8})->ops);
    const auto pipeline = *simulate_pipeline(plan);
    EXPECT_EQ(pipeline.schedule.ops, make_schedule(Schedule::GPipe, {4, 8})->ops);
    EXPECT_EQ(pipeline_title(pipeline), "list.json");
    EXPECT_FALSE(pipeline.closed_form);
}

TEST_F(ScheduleFile, ItsNameMayHoldAnything) {
    auto plan = four_stages();
    const auto odd = folder_ / R"(a"<&>\.json)";
    ASSERT_TRUE(write_schedule(odd, *make_schedule(Schedule::GPipe, {4, 8})));
    plan.layout.schedule_file = odd.string();
    const auto pipeline = *simulate_pipeline(plan);
    EXPECT_THAT(pipeline_svg(pipeline), AllOf(HasSubstr("&lt;&amp;&gt;"), Not(HasSubstr("<&>"))));
    EXPECT_TRUE(parse_json(chrome_trace(pipeline), "trace"));
}

TEST_F(ScheduleFile, WithoutOneThePlansScheduleIsMade) {
    auto plan = four_stages();
    plan.layout.schedule = Schedule::ZbV;
    EXPECT_EQ(plan_schedule(plan)->ops, make_schedule(Schedule::ZbV, {4, 8})->ops);
    plan.layout.schedule = Schedule::Zb1p;  // searched for the plan's own times
    EXPECT_EQ(plan_schedule(plan)->ops, make_schedule(Schedule::Zb1p, {4, 8}, relative_stage_times(plan))->ops);
    plan.layout.pp = 1;
    EXPECT_EQ(plan_schedule(plan)->ops, make_schedule(Schedule::OneFOneB, {1, 8})->ops);
}

TEST_F(ScheduleFile, ALayoutTakesTheShapeOfAList) {
    for (std::size_t k = 0; k < schedule_names.size(); ++k) {
        const auto kind = static_cast<Schedule>(k);
        const auto list = *make_schedule(kind, {4, 8, 3});
        ASSERT_TRUE(write_schedule(file(), list));
        for (const auto before : {Schedule::OneFOneB, Schedule::Interleaved, Schedule::VMin, kind}) {
            auto plan = four_stages();
            plan.layout.schedule = before;
            plan.layout.pp = 2;
            plan.layout = laid_out_as(plan.layout, list);
            plan.layout.schedule_file = file().string();
            ASSERT_TRUE(plan_schedule(plan)) << schedule_names[k] << ": " << plan_schedule(plan).error().message;
            if (before == kind) {
                EXPECT_EQ(plan.layout.schedule, kind);
            }
        }
    }
}

TEST_F(ScheduleFile, HasToFitThePlan) {
    auto plan = four_stages();
    plan.layout.schedule_file = file().string();
    const auto error = [&](Schedule kind, ScheduleShape shape) {
        EXPECT_TRUE(write_schedule(file(), *make_schedule(kind, shape)));
        const auto schedule = plan_schedule(plan);
        return schedule ? "" : schedule.error().message;
    };
    EXPECT_THAT(error(Schedule::GPipe, {2, 8}), HasSubstr("layout.pp is 4; set it to 2 or take another file"));
    EXPECT_THAT(error(Schedule::GPipe, {4, 4}), HasSubstr("layout.accumulation is 8; set it to 4"));
    EXPECT_THAT(error(Schedule::ZbV, {4, 8}), HasSubstr("set layout.schedule to zb-v"));
    EXPECT_THAT(error(Schedule::Interleaved, {4, 8, 2}), HasSubstr("to interleaved-1f1b and layout.chunks to 2"));
    plan.layout.schedule = Schedule::Interleaved;
    plan.layout.chunks = 2;
    EXPECT_EQ(error(Schedule::BreadthFirst, {4, 8, 2}), "");
    EXPECT_THAT(error(Schedule::GPipe, {4, 8}), HasSubstr("set layout.schedule to 1f1b"));
    plan.layout.schedule = Schedule::DualPipeV;
    EXPECT_EQ(error(Schedule::VMin, {4, 8}), "");
    plan.layout.pp = 1;
    EXPECT_THAT(plan_schedule(plan).error().message, HasSubstr("layout.pp is 1; clear it"));
    plan.layout.pp = 4;
    std::filesystem::remove(file());
    EXPECT_THAT(plan_schedule(plan).error().message, HasSubstr("layout.schedule_file: "));
}

}  // namespace
}  // namespace plimsoll
