// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/run/run_folder.h"
#include "core/telemetry/writer.h"
#include "tests/support/program.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class WatchTest : public CliTest {
protected:
    void SetUp() override {
        CliTest::SetUp();
        Plan plan;
        plan.training.steps = 200;
        const auto run = RunFolder::create(folder / "store/my-run", plan, false);
        ASSERT_TRUE(run);
        auto first = TelemetryWriter::open(run->telemetry_path(0));
        for (std::uint64_t step = 1; step <= 100; ++step) {
            const double loss = step == 50   ? std::nan("")
                                : step == 60 ? INFINITY
                                             : 5.5 - static_cast<double>(step) / 50;
            ASSERT_TRUE(first->points(step, 1000.0 + static_cast<double>(step),
                                      {{series::loss, loss}, {series::lr, 1e-3}, {series::memory, 1e9}}));
        }
        ASSERT_TRUE(first->event({100, 1100, EventKind::Checkpoint, "Checkpoint\x1b[2J of step 100: 3 MiB", {}}));
        auto second = TelemetryWriter::open(run->telemetry_path(1));
        ASSERT_TRUE(second->points(1, 1001, {{series::memory, 2e9}}));
        RunState state;
        state.status = RunStatus::Finished;
        state.world_size = 2;
        state.started = 1000;
        state.ended = 1100;
        ASSERT_TRUE(run->write_state(state));
    }
};

TEST_F(WatchTest, JsonHoldsTheRecordedPointsExactly) {
    const Json json = json_of(plimsoll({"watch", "my-run", "--json", "loss", "memory@1"}));
    EXPECT_EQ(json["run"], path("store/my-run"));
    EXPECT_EQ(json["status"], "finished");
    EXPECT_EQ(json["series"].size(), 2U);
    const Json& loss = json["series"]["loss"];
    ASSERT_EQ(loss.size(), 100U);
    for (std::uint64_t step = 1; step <= 100; ++step) {
        EXPECT_EQ(loss[step - 1][0], step);
        if (step == 50)
            EXPECT_EQ(loss[step - 1][1], "NaN");
        else if (step == 60)
            EXPECT_EQ(loss[step - 1][1], "Infinity");
        else
            EXPECT_EQ(loss[step - 1][1].get<double>(), 5.5 - static_cast<double>(step) / 50);
    }
    EXPECT_EQ(json["series"]["memory@1"], Json::parse("[[1, 2e9]]"));
    EXPECT_EQ(json["units"]["memory@1"], "B");
}

TEST_F(WatchTest, JsonWithoutNamesHoldsEverySeries) {
    const Json json = json_of(plimsoll({"watch", "--json"}));
    std::vector<std::string> names;
    for (const auto& [name, points] : json["series"].items()) names.push_back(name);
    EXPECT_THAT(names, ::testing::UnorderedElementsAre("loss", "lr", "memory", "memory@1"));
}

TEST_F(WatchTest, SeriesThatMayStillComeIsEmptyAndOtherNamesAreRefused) {
    EXPECT_EQ(json_of(plimsoll({"watch", "my-run", "--json", "validation_loss"}))["series"]["validation_loss"].size(),
              0U);
    EXPECT_EQ(json_of(plimsoll({"watch", "my-run", "--json", "wait_time@1"}))["series"]["wait_time@1"].size(), 0U);
    expect_refused({"watch", "my-run", "--json", "los"}, "did you mean \"loss\"?");
}

TEST_F(WatchTest, TextShowsStatePlotsAndEvents) {
    const Output output = plimsoll({"watch", "my-run", "--once"});
    ASSERT_EQ(output.code, 0) << output.err;
    EXPECT_THAT(output.out, HasSubstr("my-run  finished on 2 ranks · step 100 of 200"));
    EXPECT_THAT(output.out, HasSubstr("loss  3.50"));
    EXPECT_THAT(output.out, HasSubstr("memory, and its peak"));
    EXPECT_THAT(output.out, HasSubstr("!")) << "the NaN is marked";
    EXPECT_THAT(output.out, HasSubstr("Checkpoint[2J of step 100"));
    EXPECT_EQ(output.out.find('\x1b'), std::string::npos);
}

TEST_F(WatchTest, WhatRoutersAddToTheLossIsDrawn) {
    EXPECT_THAT(plimsoll({"watch", "my-run", "--once"}).out, Not(HasSubstr("router loss")));
    auto writer = TelemetryWriter::open(RunLayout(folder / "store/my-run").record(0));
    ASSERT_TRUE(writer->points(101, 1101, {{series::router_loss, 0.0125}, {series::z_loss, 0.002}}));
    EXPECT_THAT(plimsoll({"watch", "my-run", "--once"}).out, HasSubstr("router loss, and z-loss"));
}

TEST_F(WatchTest, RunWithoutRecordsYetSaysSo) {
    ASSERT_TRUE(RunFolder::create(folder / "fresh", Plan(), false));
    EXPECT_THAT(plimsoll({"watch", path("fresh"), "--once"}).out, HasSubstr("nothing is recorded yet"));
}

TEST_F(WatchTest, DamagedRecordsAreNamedNotFatal) {
    put_contents(folder / "store/my-run/telemetry/rank-1.rec", "no records here");
    const Output output = plimsoll({"watch", "my-run", "--once"});
    EXPECT_EQ(output.code, 0);
    EXPECT_THAT(output.out, HasSubstr("rank-1.rec"));
    put_contents(folder / "store/my-run/run.json", "{");
    EXPECT_EQ(json_of(plimsoll({"watch", "my-run", "--json", "loss"}))["status"], "damaged");
}

TEST_F(WatchTest, ADamagedDeclarationIsToldUntilTheNextNamesItsValues) {
    const auto record = folder / "store/my-run/telemetry/rank-0.rec";
    std::string bytes = contents_of(record);
    bytes[bytes.find("loss")] ^= 1;
    put_contents(record, bytes);
    for (const std::vector<std::string>& how : {std::vector<std::string>{"--once"}, {"--json", "loss"}}) {
        std::vector<std::string> watch{"watch", "my-run"};
        watch.insert(watch.end(), how.begin(), how.end());
        const Output output = plimsoll(watch);
        EXPECT_EQ(output.code, 0);
        EXPECT_THAT(output.err, HasSubstr("rank-0.rec is damaged in one place, which was passed over"));
        EXPECT_THAT(output.err, HasSubstr("100 recorded values cannot be shown until their series is declared again"));
    }
    EXPECT_THAT(plimsoll({"watch", "my-run", "--once"}).out, HasSubstr("learning rate")) << "the rest is shown";
    // Whoever goes on with the file knows no more which series it was, but its own are declared again.
    auto writer = TelemetryWriter::open(record);
    ASSERT_TRUE(writer->points(101, 1101, {{series::loss, 3}, {series::lr, 1e-3}}));
    const Json json = json_of(plimsoll({"watch", "my-run", "--json", "loss", "lr"}));
    EXPECT_EQ(json["series"]["loss"].size(), 1U);
    EXPECT_EQ(json["series"]["lr"].size(), 101U);
}

}  // namespace
}  // namespace plimsoll
