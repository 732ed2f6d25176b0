// SPDX-License-Identifier: Apache-2.0
#include "core/interop/records/records_export.h"
#include "core/base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/file.h"
#include "core/telemetry/frame.h"
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
