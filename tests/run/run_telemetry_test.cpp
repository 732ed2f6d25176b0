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
    EXPECT_TRUE(telemetry.at_end()) << "what cannot be read is not waited for";
}

TEST_F(RunTelemetryTest, RecordsTellHowFarTheyAreReadAndWhatIsDamaged) {
    const RunFolder run = make_run();
    auto writer = TelemetryWriter::open(run.telemetry_path(3));
    std::uint64_t step = 0;
    while (std::filesystem::file_size(run.telemetry_path(3)) < 5 * MiB)
        for (int i = 0; i < 1000; ++i) ASSERT_TRUE(writer->points(++step, 1, {{series::loss, 1}}));
    RunRecords records(run);
    EXPECT_TRUE(records.poll(2 * MiB).empty()) << "nobody has looked for files yet";
    records.look();
    const auto news = records.poll(2 * MiB);
    ASSERT_EQ(news.size(), 1U);
    EXPECT_EQ(news[0].first, 3);
    EXPECT_FALSE(records.at_end());
    EXPECT_GT(records.progress(), 0.2);
    EXPECT_LT(records.progress(), 0.8);
    while (!records.at_end()) EXPECT_FALSE(records.poll(2 * MiB).empty());
    EXPECT_EQ(records.progress(), 1);
    EXPECT_TRUE(records.poll(2 * MiB).empty()) << "nothing is read twice";
    EXPECT_TRUE(records.damages().empty());

    std::string bytes = contents_of(run.telemetry_path(3));
    bytes[bytes.size() / 2] ^= 1;
    put_contents(run.telemetry_path(4), bytes);
    records.look();
    do {
        records.poll(2 * MiB);
    } while (!records.at_end());
    ASSERT_EQ(records.damages().size(), 1U);
    EXPECT_EQ(records.damages()[0].rank, 4);
    EXPECT_EQ(records.damages()[0].places, 1U);
}

}  // namespace
}  // namespace plimsoll
