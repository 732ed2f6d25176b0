// SPDX-License-Identifier: Apache-2.0
#include "core/run/run_telemetry.h"

#include "core/telemetry/writer.h"
#include "tests/support/run_fixture.h"

namespace plimsoll {
namespace {

class RunTelemetryTest : public RunTest {};

TEST_F(RunTelemetryTest, EveryRankIsReadAsItAppears) {
    const RunFolder run = make_run();
    RunTelemetry telemetry(run);
    EXPECT_FALSE(telemetry.poll());
    auto first = TelemetryWriter::open(run.telemetry_path(0));
    ASSERT_TRUE(first->points(1, 1, {{series::loss, 5.5}, {series::memory, 1000}}));
    EXPECT_TRUE(telemetry.poll());
    auto second = TelemetryWriter::open(run.telemetry_path(1));
    ASSERT_TRUE(second->points(1, 1, {{series::memory, 2000}}));
    auto supervisor = TelemetryWriter::open(run.telemetry_path(-1));
    ASSERT_TRUE(supervisor->event({0, 0.5, EventKind::Supervise, "2 ranks are started", {}}));
    EXPECT_TRUE(telemetry.poll());
    EXPECT_FALSE(telemetry.poll());
    EXPECT_TRUE(telemetry.at_end());
    EXPECT_EQ(telemetry.series().find(series::loss)->value(0), 5.5);
    EXPECT_EQ(telemetry.series().find("memory@1")->value(0), 2000);
    EXPECT_EQ(telemetry.series().unit("memory@1"), "B");
    EXPECT_EQ(telemetry.series().events().at(0).kind, EventKind::Supervise);
}

TEST_F(RunTelemetryTest, ForeignFilesAreNamedAndDoNotStopTheRest) {
    const RunFolder run = make_run();
    put_contents(run.telemetry_path(1), "this is no record file");
    put_contents(run.layout().records() / "rank-99999999999999.rec", "x");
    put_contents(run.layout().records() / "rank--1.rec", "x");
    put_contents(run.layout().records() / "notes.txt", "x");
    auto writer = TelemetryWriter::open(run.telemetry_path(0));
    ASSERT_TRUE(writer->points(1, 1, {{series::loss, 5.5}}));
    RunTelemetry telemetry(run);
    EXPECT_TRUE(telemetry.poll());
    EXPECT_EQ(telemetry.series().find(series::loss)->size(), 1U);
    ASSERT_EQ(telemetry.problems().size(), 1U);
    EXPECT_NE(telemetry.problems()[0].find("rank-1.rec"), std::string::npos);
}

}  // namespace
}  // namespace plimsoll
