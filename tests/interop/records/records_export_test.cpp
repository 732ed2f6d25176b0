// SPDX-License-Identifier: Apache-2.0
#include "core/interop/records/records_export.h"
#include "core/base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "core/base/file.h"
#include "core/telemetry/frame.h"
#include "core/telemetry/series_store.h"
#include "tests/support/some_records.h"

namespace plimsoll {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string exported(RecordFormat format) {
    const auto text = records_as(format);
    EXPECT_TRUE(text) << text.error().message;
    return text ? *text : "";
}

TEST(RecordsExport, CsvHasALineForEachPoint) {
    EXPECT_THAT(
        exported(RecordFormat::Csv),
        AllOf(StartsWith("series,step,time,value,unit\r\n"), HasSubstr("loss,2,1002.5,3,\"nats, \"\"a token\"\"\"\r\n"),
              HasSubstr("layers.0,1,1001.5,NaN,"), HasSubstr("memory@1,0,1000.5,4096,")));
}

TEST(RecordsExport, EveryLineOfJsonlIsStrictJson) {
    const std::string text = exported(RecordFormat::Jsonl);
    int lines = 0;
    for (std::size_t begin = 0; begin < text.size(); ++lines) {
        const std::size_t end = text.find('\n', begin);
        ASSERT_NE(end, std::string::npos);
        EXPECT_TRUE(parse_json(text.substr(begin, end - begin), "line"));
        begin = end + 1;
    }
    EXPECT_EQ(lines, 6);
    EXPECT_THAT(text, AllOf(HasSubstr("\"value\":\"NaN\""), HasSubstr("\"sentence\":\"step 2 is saved\"")));
}

TEST(RecordsExport, PrometheusHasTheLastValues) {
    EXPECT_THAT(exported(RecordFormat::Prometheus),
                AllOf(HasSubstr("# TYPE plimsoll_loss gauge\nplimsoll_loss{run=\"run \\\"a\\\"\",rank=\"0\"} 3\n"),
                      HasSubstr("plimsoll_memory{run=\"run \\\"a\\\"\",rank=\"1\"} 4096\n"),
                      HasSubstr("plimsoll_grad_norm_layers_0"), HasSubstr("plimsoll_step{run=\"run \\\"a\\\"\"} 2\n")));
}

TEST(RecordsExport, NamesOfOthersAreNoFormulasAndNoEscapes) {
    SeriesStore store;
    TelemetryBatch batch;
    for (const char* name : {"=HYPERLINK(\"http://example.org\")", "+1", "@cmd", "-2", "plain", "bad\xff", "a\x1b[31m"})
        batch.points[name] = {{1, 0, -1.5}};
    store.apply(batch);
    std::string csv;
    ASSERT_TRUE(export_records(store, RecordFormat::Csv, "run", [&](std::string_view piece) -> Result<void> {
        csv += piece;
        return {};
    }));
    EXPECT_TRUE(valid_utf8(csv));
    EXPECT_EQ(csv.find('\x1b'), std::string::npos);
    std::istringstream lines(csv);
    std::string line;
    for (std::getline(lines, line); std::getline(lines, line);) {
        const char first = line[line.starts_with('"') ? 1 : 0];
        EXPECT_EQ(std::string_view("=+-@").find(first), std::string_view::npos) << line;
        EXPECT_THAT(line, HasSubstr(",-1.5,")) << "numbers stay numbers";
    }
    EXPECT_THAT(csv, HasSubstr("\"'=HYPERLINK(\"\"http"));
}

TEST(RecordsExport, EverySampleOfPrometheusHasANameOfItsOwn) {
    SeriesStore store;
    TelemetryBatch batch;
    for (const char* name : {"a-b", "a_b", "a.b", "step", "\xc3\xa9"}) batch.points[name] = {{1, 0, 1}};
    store.apply(batch);
    store.apply(batch, 1);
    std::string text;
    ASSERT_TRUE(export_records(store, RecordFormat::Prometheus, "run\xff", [&](std::string_view piece) -> Result<void> {
        text += piece;
        return {};
    }));
    EXPECT_TRUE(valid_utf8(text));
    std::set<std::string> samples;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with('#')) continue;
        EXPECT_TRUE(samples.insert(line.substr(0, line.rfind(' '))).second) << line << " stands twice";
        EXPECT_EQ(line.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789"), line.find('{')) << line;
    }
    EXPECT_EQ(samples.size(), 2 * 5 + 1U);
}

TEST(RecordsExport, TensorBoardFramesHaveTheirLengthAndChecksums) {
    const std::string file = exported(RecordFormat::TensorBoard);
    const auto unmasked = [](std::uint32_t masked) {
        const std::uint32_t rotated = masked - 0xA282EAD8U;
        return (rotated >> 17) | (rotated << 15);
    };
    int frames = 0;
    for (std::string_view rest = file; !rest.empty(); ++frames) {
        ByteReader head(rest.substr(0, 12));
        const std::uint64_t size = head.u64();
        ASSERT_LE(size + 16, rest.size());
        EXPECT_EQ(unmasked(head.u32()), crc32c(rest.substr(0, 8)));
        const std::string_view event = rest.substr(12, size);
        EXPECT_EQ(unmasked(ByteReader(rest.substr(12 + size, 4)).u32()), crc32c(event));
        rest.remove_prefix(size + 16);
    }
    EXPECT_EQ(frames, 1 + 3 + 1);  // the version, three steps, one event
    EXPECT_THAT(file, HasSubstr("brain.Event:2"));
}

// The files that pyarrow and W&B's own reader were given (check_records.py).
TEST(RecordsExport, ParquetAndWandbAreTheRecordedFiles) {
    for (const auto& [format, name] :
         {std::pair{RecordFormat::Parquet, "run.parquet"}, std::pair{RecordFormat::Wandb, "run.wandb"}}) {
        const auto recorded = read_file(std::string(PLIMSOLL_SOURCE_DIR "/tests/oracles/records/") + name);
        ASSERT_TRUE(recorded) << recorded.error().message;
        EXPECT_TRUE(exported(format) == *recorded) << name;
    }
}

TEST(RecordsExport, TheSinksErrorEndsIt) {
    const auto written = export_records(some_records(), RecordFormat::Csv, "run",
                                        [](std::string_view) -> Result<void> { return failed("disk full"); });
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().message, "disk full");
}

}  // namespace
}  // namespace plimsoll
