// SPDX-License-Identifier: Apache-2.0
// plimsoll tokenize. The ids are tests/tokenizer's.
#include "core/base/json.h"
#include "tests/support/program.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

class TokenizeTest : public CliTest {
protected:
    void SetUp() override {
        CliTest::SetUp();
        put_contents(folder / "vocab.json",
                     R"({"a": 0, "b": 1, "Ġ": 2, "ab": 3, "Ġab": 4, "Ċ": 5, "<|endoftext|>": 6})");
        put_contents(folder / "merges.txt", "#version: 0.2\na b\nĠ ab\n");
        put_contents(folder / "one.txt", "ab ab\nb");
        put_contents(folder / "two.txt", "a");
    }
    std::vector<std::string> command(std::vector<std::string> more) {
        std::vector<std::string> all{"tokenize", path("one.txt"), path("two.txt"), "--tokenizer",
                                     folder.path().string()};
        all.insert(all.end(), more.begin(), more.end());
        return all;
    }
};

TEST_F(TokenizeTest, IdsTokensAndCounts) {
    EXPECT_EQ(plimsoll(command({"--ids"})).out, "3 4 5 1\n0\n");
    EXPECT_EQ(plimsoll(command({"--tokens"})).out, "ab Ġab Ċ b\na\n");
    EXPECT_EQ(plimsoll(command({"--ids", "--lines", "--end", "<|endoftext|>"})).out, "3 4 6\n1 6\n0 6\n");
    const Output counts = plimsoll(command({"--json"}));
    const auto json = parse_json(counts.out, "out");
    ASSERT_TRUE(json) << counts.err;
    EXPECT_EQ((*json)["vocab_size"], 7);
    EXPECT_EQ((*json)["files"][0]["tokens"], 4);
    EXPECT_EQ((*json)["files"][0]["bytes"], 7);
    EXPECT_THAT(plimsoll(command({})).out, HasSubstr("4 tokens, 1.75 bytes per token"));
}

TEST_F(TokenizeTest, PackedIdsHaveTheirDescriptionAndTokenizer) {
    const Output output = plimsoll(command({"-o", path("all.bin")}));
    EXPECT_EQ(output.code, 0) << output.err;
    EXPECT_EQ(contents_of(folder / "all.bin"), std::string("\3\0\4\0\5\0\1\0\0\0", 10));
    const auto json = read_json(folder / "all.bin.json");
    ASSERT_TRUE(json);
    EXPECT_EQ((*json)["tokens"], 5);
    EXPECT_EQ((*json)["documents"], 2);
    EXPECT_EQ((*json)["dtype"], "uint16");
    EXPECT_EQ(plimsoll({"tokenize", path("two.txt"), "--ids", "--tokenizer", path("all.bin.tokenizer.json")}).out,
              "0\n");
}

TEST_F(TokenizeTest, BadInputIsNamed) {
    expect_refused({"tokenize", path("one.txt")}, "--tokenizer");
    expect_refused({"tokenize", "--tokenizer", folder.path().string()}, "name a text to tokenize");
    expect_refused({"tokenize", path("none.txt"), "--tokenizer", folder.path().string()}, "none.txt");
    expect_refused({"tokenize", path("one.txt"), "--tokenizer", path("one.txt")}, "one.txt");
    expect_refused(command({"--end", "<eos>"}), "has no token <eos>");
    expect_refused(command({"-o", path("all.txt")}), "does not end in .bin");
    put_contents(folder / "vocab.json", R"({"a": 0})");
    expect_refused(command({}), "the merge \"a b\" needs the token \"b\"");
}

}  // namespace
}  // namespace plimsoll
