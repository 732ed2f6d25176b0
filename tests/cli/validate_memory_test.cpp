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

TEST_F(ValidateMemoryTest, ATableOfOnesOwnNeedsNoSource) {
    const std::string columns =
        "model,layers,hidden,heads,kv_heads,ffn,vocab,seq,micro_batch,dp,sharding,peak,unit,metric";
    const std::string row = "mine,32,4096,32,32,11008,32000,2048,1,8,ZeRO-3,60,GiB,allocated";
    for (const char* framework : {"megatron", "torchtitan", "hf-trainer"}) {
        const Json json = json_of(
            plimsoll({"validate", "memory", file(columns + ",framework\n" + row + "," + framework + "\n"), "--json"}));
        EXPECT_EQ(json["rows"][0]["framework"], framework);
        EXPECT_GT(json["rows"][0]["predicted"].get<double>(), 1e9) << framework;
    }
    const Output unnamed = plimsoll({"validate", "memory", file(columns + "\n" + row + "\n")});
    EXPECT_EQ(unnamed.code, 0) << unnamed.err;
    EXPECT_THAT(unnamed.out, HasSubstr("add a column \"framework\" with megatron"));
    EXPECT_THAT(unnamed.out, HasSubstr("none of the 1 rows could be estimated"));
    EXPECT_THAT(unnamed.out, ::testing::Not(HasSubstr("0.0 %")));
    const Json none = json_of(plimsoll({"validate", "memory", file(columns + "\n" + row + "\n"), "--json"}));
    EXPECT_TRUE(none["summary"]["mean_absolute_error"].is_null());
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
    refused({"validate", "memory", file("layers,hidden,peak,unit,framework\n2,64,1,GiB,caffe\n")},
            "line 2: framework is \"caffe\"; it must be megatron");
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
