// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <fstream>

#include "core/base/json.h"
#include "tests/support/program.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

class ValidateMemoryTest : public CliTest {
protected:
    std::string file(const std::string& text) {
        const auto path = folder / "peaks.csv";
        std::ofstream(path) << text;
        return path.string();
    }
};

TEST_F(ValidateMemoryTest, RowsErrorsAndTheSummary) {
    const Json json = json_of(plimsoll(
        {"validate", "memory", PLIMSOLL_SOURCE_DIR "/resources/validation/megatron-golden-peaks.csv", "--json"}));
    EXPECT_EQ(json["rows"].size(), 512U);
    EXPECT_EQ(json["summary"]["rows"], 512);
    EXPECT_LE(json["summary"]["mean_absolute_error"].get<double>(), 0.034);
    const auto& row = json["rows"][0];
    EXPECT_DOUBLE_EQ(row["error"].get<double>(), row["predicted"].get<double>() / row["measured"].get<double>() - 1);
}

TEST_F(ValidateMemoryTest, TextEndsWithTheSummary) {
    const Output output =
        plimsoll({"validate", "memory", PLIMSOLL_SOURCE_DIR "/resources/validation/measured-peaks.csv", "--confidence",
                  "high", "--misses"});
    EXPECT_EQ(output.code, 0) << output.err;
    EXPECT_THAT(output.out, HasSubstr("61 of 61 rows estimated"));
}

TEST_F(ValidateMemoryTest, BadInputIsRefusedWithTheCure) {
    const auto refused = [&](const std::vector<std::string>& arguments, const std::string& why) {
        const Output output = plimsoll(arguments);
        EXPECT_EQ(output.code, 2);
        EXPECT_THAT(output.err, HasSubstr(why));
        EXPECT_EQ(output.out, "");
    };
    refused({"validate", "memory"}, "give a CSV of measured peaks, or --engine");
    refused({"validate", "memory", "/no/such/file.csv"}, "/no/such/file.csv");
    refused({"validate", "memory", file("a,b\n1,2\n")}, "the first line must name");
    refused({"validate", "memory", file("peak_alloc_bytes,num-layers\n1,x\n")}, "line 2: num-layers");
    refused({"validate", "memory", PLIMSOLL_SOURCE_DIR "/resources/validation/measured-peaks.csv", "--kind", "guessed"},
            "choose others with --kind");
}

TEST_F(ValidateMemoryTest, AnotherFrameworksMemory) {
    const Json megatron = json_of(
        plimsoll({"estimate", "llama-7b", "--gpu", "h100", "--gpus", "8", "--framework", "megatron", "--json"}));
    EXPECT_EQ(megatron["framework"], "megatron");
    EXPECT_LT(megatron["ranks"][0]["low_bytes"], megatron["ranks"][0]["high_bytes"]);
    const Output unknown = plimsoll({"estimate", "llama-7b", "--framework", "caffe"});
    EXPECT_EQ(unknown.code, 2);
    EXPECT_THAT(unknown.err, HasSubstr("known are plimsoll, deepspeed, megatron, torchtitan, hf-trainer"));
}

}  // namespace
}  // namespace plimsoll
