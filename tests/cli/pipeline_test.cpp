// SPDX-License-Identifier: Apache-2.0
#include "core/base/json.h"
#include "core/schedule/plan_pipeline/plan_pipeline.h"

#include <fstream>

#include "core/plan/plan_io.h"
#include "core/plan/starting_plan.h"
#include "tests/support/program.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

class PipelineTest : public CliTest {};

TEST_F(PipelineTest, JsonIsTheSimulation) {
    const Json json =
        json_of(plimsoll({"pipeline", "llama-2-70b-64xh100", "--schedule", "zb-h1", "--stages", "8", "--json"}));
    auto plan = plan_from_argument("llama-2-70b-64xh100")->plan;
    plan.layout.schedule = Schedule::ZbH1;
    plan.layout.pp = 8;
    const auto pipeline = *simulate_pipeline(plan);
    EXPECT_EQ(json["schedule"], "zb-h1");
    EXPECT_DOUBLE_EQ(json["bubble"], pipeline.timeline.bubble);
    EXPECT_DOUBLE_EQ(json["bubble_per_rank"], pipeline.timeline.bubble_per_rank);
    ASSERT_EQ(json["ranks"].size(), 8u);
    EXPECT_EQ(json["ranks"][3]["ops"].size(), pipeline.schedule.ops[3].size());
    EXPECT_EQ(json["stages"].size(), 8u);
}

TEST_F(PipelineTest, TypedTimesGiveTheClosedForm) {
    const Output output = plimsoll({"pipeline", "llama-7b", "--stages", "4", "--micro-batches", "8", "--forward", "1",
                                    "--backward-input", "1", "--backward-weight", "1"});
    EXPECT_EQ(output.code, 0) << output.err;
    // (4 - 1) / (8 + 4 - 1)
    EXPECT_THAT(output.out, HasSubstr("Bubble 27.27 % of the step; closed form (p−1)/(m+p−1) = 27.27 %"));
    EXPECT_THAT(output.out, HasSubstr("ZB-H1"));
}

TEST_F(PipelineTest, PicturesAreWritten) {
    const auto svg = folder / "p.svg", trace = folder / "p.json";
    const Output output =
        plimsoll({"pipeline", "llama-7b", "--stages", "4", "--svg", svg.string(), "--trace", trace.string()});
    EXPECT_EQ(output.code, 0) << output.err;
    std::ifstream drawn(svg);
    std::string first;
    std::getline(drawn, first);
    EXPECT_THAT(first, HasSubstr("<svg "));
    std::ifstream traced(trace);
    EXPECT_GT(Json::parse(traced).size(), 10u);
}

TEST_F(PipelineTest, AListIsSavedAndFollowed) {
    const auto list = (folder / "list.json").string();
    const std::vector<std::string> zb_v{"pipeline", "llama-7b",   "--stages", "4",     "--micro-batches",
                                        "8",        "--schedule", "zb-v",     "--json"};
    auto saving = zb_v;
    saving.insert(saving.end(), {"--save-list", list});
    const Json made = json_of(plimsoll(saving));
    const Json followed = json_of(plimsoll({"pipeline", "llama-7b", "--list", list, "--json"}));
    EXPECT_EQ(followed["ranks"], made["ranks"]);
    EXPECT_EQ(followed["file"], list);
    EXPECT_THAT(plimsoll({"pipeline", "llama-7b", "--list", list}).out,
                HasSubstr("list.json: 4 ranks x 2 chunks, 8 micro-batches"));

    const Output other = plimsoll({"pipeline", "llama-7b", "--list", list, "--micro-batches", "9"});
    EXPECT_EQ(other.code, 2);
    EXPECT_THAT(other.err, HasSubstr("is for 8 micro-batches, but layout.accumulation is 9"));
    std::ofstream(list) << "{}";
    const Output broken = plimsoll({"pipeline", "llama-7b", "--list", list});
    EXPECT_EQ(broken.code, 2);
    EXPECT_THAT(broken.err, HasSubstr("is no pipeline schedule"));
}

TEST_F(PipelineTest, BadInputIsOneSentence) {
    const auto refused = [&](std::vector<std::string> arguments, const std::string& sentence) {
        arguments.insert(arguments.begin(), {"pipeline", "llama-7b"});
        const Output output = plimsoll(arguments);
        EXPECT_EQ(output.code, 2);
        EXPECT_THAT(output.err, HasSubstr(sentence));
    };
    refused({"--schedule", "zb-h3"}, "did you mean");
    refused({"--stages", "33"}, "more than the 32 layers");
    refused({"--stages", "8", "--schedule", "interleaved-1f1b", "--chunks", "5"}, "or 4 chunks with these stages");
    refused({"--stages", "-1"}, "--stages is -1");
    refused({"--stages", "4", "--forward", "-1"}, "times must be finite and 0 or more");
    refused({"--stages", "4", "--forward", "nan"}, "times must be finite and 0 or more");
    refused({"--stages", "4", "--forward", "1,2"}, "2 times for 4");
    refused({"--stages", "4", "--micro-batches", "7", "--schedule", "dualpipe-v"}, "layout.accumulation to 8");
    refused({"--stages", "4", "--micro-batches", "16000000"}, "more than the");
    refused({"--stages", "4", "--svg", "/nowhere/p.svg"}, "/nowhere");
}

TEST_F(PipelineTest, FewerMicroBatchesThanStagesAreAllowedWithTheirCost) {
    const Output output = plimsoll({"pipeline", "llama-7b", "--stages", "8", "--micro-batches", "2"});
    EXPECT_EQ(output.code, 0);
    EXPECT_THAT(output.out, HasSubstr("2 micro-batches cannot fill 8 stages"));
}

TEST_F(PipelineTest, ValidateBubbleComparesWithTheFile) {
    const Json json = json_of(
        plimsoll({"validate", "bubble", PLIMSOLL_SOURCE_DIR "/resources/validation/zero-bubble-rates.csv", "--json"}));
    ASSERT_EQ(json["rows"].size(), 8u);
    EXPECT_NEAR(json["rows"][0]["bubble_1f1b"]["simulated"], 0.2431, 0.00005);
    EXPECT_NEAR(json["rows"][0]["bubble_zb_2p"]["difference"], 0, 0.00005);
    const Output missing = plimsoll({"validate", "bubble", (folder / "none.csv").string()});
    EXPECT_EQ(missing.code, 2);
    EXPECT_THAT(missing.err, HasSubstr("none.csv"));
}

}  // namespace
}  // namespace plimsoll
