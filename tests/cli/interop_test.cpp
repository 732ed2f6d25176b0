// SPDX-License-Identifier: Apache-2.0
#include "core/interop/deepspeed.h"
#include "core/plan/plan_io.h"
#include "tests/cli/program.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

class InteropTest : public CliTest {};

TEST_F(InteropTest, DeepspeedExportIsCores) {
    const auto plan = plan_from_argument("llama-3-8b-8xh100");
    ASSERT_TRUE(plan);
    const auto exported = export_deepspeed(plan->plan);
    ASSERT_TRUE(exported);
    const Output printed = plimsoll({"export", "deepspeed", "llama-3-8b-8xh100"});
    EXPECT_EQ(json_of(printed), exported->json);
    for (const std::string& note : exported->notes) EXPECT_THAT(printed.err, HasSubstr(note));
    const Output written = plimsoll({"export", "deepspeed", "llama-3-8b-8xh100", "-o", path("ds.json")});
    EXPECT_EQ(written.code, 0) << written.err;
    EXPECT_EQ(written.out, "");
    EXPECT_EQ(*read_json(folder / "ds.json"), exported->json);
}

TEST_F(InteropTest, FailedExportLeavesTheOldFile) {
    put_contents(folder / "ds.json", "the old one");
    EXPECT_EQ(plimsoll({"export", "deepspeed", "cpu-demo", "--set", "layout.dp=7", "-o", path("ds.json")}).code, 2);
    EXPECT_EQ(contents_of(folder / "ds.json"), "the old one");
}

TEST_F(InteropTest, ExportDoesNotOverwriteThePlanItself) {
    ASSERT_TRUE(save_plan(folder / "plan.json", plan_from_argument("cpu-demo")->plan));
    const std::string before = contents_of(folder / "plan.json");
    expect_refused({"export", "deepspeed", path("plan.json"), "-o", path("plan.json")}, "is the plan itself");
    EXPECT_EQ(contents_of(folder / "plan.json"), before);
}

TEST_F(InteropTest, HuggingFaceConfigBecomesAPlanThatOtherCommandsTake) {
    put_contents(folder / "config.json", R"({"model_type": "llama", "hidden_size": 4096, "intermediate_size": 11008,
        "num_hidden_layers": 32, "num_attention_heads": 32, "vocab_size": 32000, "max_position_embeddings": 2048,
        "rms_norm_eps": 1e-6, "tie_word_embeddings": false})");
    const Output output = plimsoll({"import", "hf", path("config.json"), "-o", path("plan.json")});
    ASSERT_EQ(output.code, 0) << output.err;
    const Json json = json_of(plimsoll({"estimate", path("plan.json"), "--json"}));
    EXPECT_EQ(json["model"]["parameters"], 6738415616);
    EXPECT_EQ(json_of(plimsoll({"import", "hf", path("config.json")})), *read_json(folder / "plan.json"));
}

TEST_F(InteropTest, WrongConfigsAreNamed) {
    expect_refused({"import", "hf", path("none.json")}, "none.json");
    put_contents(folder / "config.json", R"({"model_type": "mamba"})");
    put_contents(folder / "plan.json", "the old one");
    expect_refused({"import", "hf", path("config.json"), "-o", path("plan.json")}, "mamba");
    EXPECT_EQ(contents_of(folder / "plan.json"), "the old one");
}

}  // namespace
}  // namespace plimsoll
