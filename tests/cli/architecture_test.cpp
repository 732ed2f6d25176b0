// SPDX-License-Identifier: Apache-2.0
// plimsoll architecture. The counts are tests/architecture's.
#include "core/base/json.h"
#include "tests/support/program.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

class ArchitectureCommandTest : public CliTest {
protected:
    void SetUp() override {
        CliTest::SetUp();
        put_contents(
            folder / "config.json",
            R"({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "vocab_size": 50257, "n_positions": 1024})");
    }
};

TEST_F(ArchitectureCommandTest, TellsAFolderInWordsAndAsJson) {
    const Output words = plimsoll({"architecture", folder.path().string()});
    EXPECT_EQ(words.code, 0) << words.err;
    EXPECT_THAT(words.out, HasSubstr("GPT-2, a decoder (gpt2)"));
    EXPECT_THAT(words.out, HasSubstr("124 M (124,439,808)"));
    EXPECT_THAT(words.out,
                HasSubstr("12 layers    multi-head attention; learned positions; plain (GELU) MLP; LayerNorm (pre)"));
    const auto json = parse_json(plimsoll({"architecture", path("config.json"), "--json", "--tensors"}).out, "out");
    ASSERT_TRUE(json);
    EXPECT_EQ((*json)["parameters"], 124'439'808);
    EXPECT_EQ((*json)["tensors"]["transformer.h.3.attn.c_attn.weight"], Json({768, 2304}));
    EXPECT_EQ((*json)["tied_head"], true);
    EXPECT_THAT(plimsoll({"architecture", path("config.json"), "--tensors"}).out,
                HasSubstr("transformer.wpe.weight [1024, 768]\n"));
    EXPECT_THAT(plimsoll({"architecture", "--list"}).out, HasSubstr("DeepseekV3ForCausalLM"));
}

TEST_F(ArchitectureCommandTest, BadInputIsNamed) {
    expect_refused({"architecture"}, "name a config.json");
    expect_refused({"architecture", path("none")}, "none");
    expect_refused({"architecture", path("config.json"), "--as", "gpt3"},
                   "there is no family \"gpt3\" (did you mean \"gpt2\"?)");
    put_contents(folder / "config.json",
                 R"({"model_type": "gpt2", "n_embd": 10, "n_layer": 1, "n_head": 3, "vocab_size": 5})");
    expect_refused({"architecture", path("config.json")}, "config.json: 3 heads do not divide a width of 10");
    put_contents(folder / "config.json", "{");
    expect_refused({"architecture", path("config.json")}, "line 1");
}

}  // namespace
}  // namespace plimsoll
