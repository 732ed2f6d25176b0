// SPDX-License-Identifier: Apache-2.0
#include "core/tokenizer/tokenizer.h"

#include <gmock/gmock.h>

#include <future>

#include "core/base/file.h"
#include "core/base/json.h"
#include "tests/support/temp_folder.h"

namespace plimsoll {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::filesystem::path oracles = std::filesystem::path(PLIMSOLL_SOURCE_DIR) / "tests/oracles/tokenizers";

Tokenizer load(const std::filesystem::path& path) {
    auto tokenizer = Tokenizer::load(path);
    if (!tokenizer) throw std::runtime_error(tokenizer.error().message);
    return std::move(*tokenizer);
}

std::vector<TokenId> encode(const Tokenizer& tokenizer, std::string_view text, bool special = false) {
    WordCache cache;
    std::vector<TokenId> ids;
    const auto done = tokenizer.encode(text, special, cache, ids);
    EXPECT_TRUE(done) << done.error().message;
    return ids;
}

/// The sentence that refuses the JSON.
std::string refusal(const std::string& json) {
    const auto parsed = parse_json(json, "tokenizer.json");
    EXPECT_TRUE(parsed);
    const auto made = Tokenizer::from_json(*parsed);
    return made ? "accepted" : made.error().message;
}

/// A whole file around a model and a step.
std::string with(const std::string& parts) {
    return R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}, )" + parts + "}";
}

class OfALibrary : public ::testing::TestWithParam<const char*> {};

TEST_P(OfALibrary, GivesTheIdsAndTheTextOfTheTokenizersLibrary) {
    const Tokenizer tokenizer = load(oracles / (std::string(GetParam()) + ".json"));
    const auto cases = read_json(oracles / "cases.json");
    ASSERT_TRUE(cases);
    const Json& texts = (*cases)["texts"];
    const Json& expected = (*cases)[GetParam()];
    ASSERT_EQ(texts.size(), expected.size());
    ASSERT_GE(texts.size(), 28U);
    for (std::size_t i = 0; i < texts.size(); ++i) {
        const auto text = texts[i].get<std::string>();
        const auto ids = encode(tokenizer, text, true);
        EXPECT_EQ(ids, expected[i]["ids"].get<std::vector<TokenId>>()) << shown(texts[i]);
        EXPECT_EQ(tokenizer.decode(ids, true).value_or("refused"), expected[i]["text"].get<std::string>())
            << shown(texts[i]);
    }
}

INSTANTIATE_TEST_SUITE_P(Tokenizers, OfALibrary,
                         ::testing::Values("llama3", "roberta", "llama2", "metaspace", "unigram", "clip", "bert",
                                           "prefixed", "words"),
                         [](const auto& each) { return std::string(each.param); });

TEST(TokenizerTest, ByteLevelTextComesBackWhole) {
    const Tokenizer tokenizer = load(oracles / "llama3.json");
    std::string text;
    for (int code = 1; code < 128; ++code) text += static_cast<char>(code);
    text += "  ünïcödé 日本語 👩‍👩‍👧‍👦\r\n";
    EXPECT_EQ(tokenizer.decode(encode(tokenizer, text), false).value_or(""), text);
}

TEST(TokenizerTest, BytesThatAreNotTextCountAsTheReplacementCharacter) {
    const Tokenizer tokenizer = load(oracles / "llama3.json");
    // A cut character, a lone continuation, a form that is too long, a surrogate: as Python's errors="replace".
    EXPECT_EQ(encode(tokenizer, "a\xE2\x82z"), encode(tokenizer, "a\uFFFDz"));
    EXPECT_EQ(encode(tokenizer, "\x80"), encode(tokenizer, "\uFFFD"));
    EXPECT_EQ(encode(tokenizer, "\xC0\xAF"), encode(tokenizer, "\uFFFD\uFFFD"));
    EXPECT_EQ(encode(tokenizer, "\xED\xA0\x80"), encode(tokenizer, "\uFFFD\uFFFD\uFFFD"));
    EXPECT_EQ(encode(tokenizer, "\xF0\x9F\x98"), encode(tokenizer, "\uFFFD"));
}

TEST(TokenizerTest, LongWordsMergeAsShortOnesDo) {
    // Above 48 symbols another way of merging begins; the pairs are the same.
    const Tokenizer tokenizer = load(oracles / "llama2.json");
    for (const std::size_t length : {40U, 47U, 48U, 49U, 50U, 96U, 300U}) {
        std::string text;
        while (text.size() < length) text += "sailors they'll sail ";
        text.resize(length);
        const auto ids = encode(tokenizer, text);
        EXPECT_EQ(tokenizer.decode(ids, false).value_or(""), text);
        EXPECT_LT(ids.size(), length);
    }
}

TEST(TokenizerTest, ATextOfOneWordTakesTimeInProportion) {
    // 2 MB without a blank: a search through all pairs after each merge would not come to an end.
    const Tokenizer tokenizer = load(oracles / "llama2.json");
    std::string text;
    while (text.size() < 2'000'000) text += "sailors";
    EXPECT_EQ(tokenizer.decode(encode(tokenizer, text), false).value_or(""), text);
}

TEST(TokenizerTest, ThreadsShareOne) {
    const Tokenizer tokenizer = load(oracles / "roberta.json");
    const auto text = read_file(oracles / "make_tokenizers.py");
    ASSERT_TRUE(text);
    const auto alone = encode(tokenizer, *text);
    std::vector<std::future<std::vector<TokenId>>> threads;
    for (int i = 0; i < 4; ++i)
        threads.push_back(std::async(std::launch::async, [&] { return encode(tokenizer, *text); }));
    for (auto& thread : threads) EXPECT_EQ(thread.get(), alone);
}

TEST(TokenizerTest, ReadsGpt2sPairOfFiles) {
    const TempFolder folder;
    put_contents(folder / "vocab.json", R"({"a": 0, "b": 1, "Ġ": 2, "ab": 3, "Ġab": 4, "<|endoftext|>": 5})");
    put_contents(folder / "merges.txt", "#version: 0.2\na b\nĠ ab\n");
    const Tokenizer tokenizer = load(folder.path());
    EXPECT_THAT(encode(tokenizer, "ab ab<|endoftext|>b"), ElementsAre(3, 4, 5, 1));
    EXPECT_EQ(tokenizer.vocab_size(), 6);
    EXPECT_EQ(tokenizer.decode(std::vector<TokenId>{3, 4, 5, 1}, true).value_or(""), "ab abb");
    EXPECT_EQ(tokenizer.id_of("<|endoftext|>"), 5);
    EXPECT_EQ(tokenizer.id_of("nothing"), std::nullopt);
}

TEST(TokenizerTest, IdsThatNoTokenHasAreLeftOut) {
    const Tokenizer tokenizer = load(oracles / "words.json");
    EXPECT_EQ(tokenizer.decode(std::vector<TokenId>{-1, 1'000'000}, false).value_or("?"), "");
    EXPECT_EQ(tokenizer.token_of(-5), "");
}

TEST(TokenizerRefusals, NameTheStepAndTheCause) {
    EXPECT_EQ(refusal("[]"), "it holds no object");
    EXPECT_THAT(refusal("{}"), HasSubstr("\"model\" is missing"));
    EXPECT_THAT(refusal(R"({"model": {"type": "Other"}})"), HasSubstr("the model Other is not known"));
    EXPECT_THAT(refusal(R"({"model": {"type": "BPE"}})"), HasSubstr("has no vocabulary"));
    EXPECT_THAT(refusal(R"({"model": {"type": "BPE", "vocab": {"a": -1}}})"),
                HasSubstr("the token \"a\" has the id -1"));
    EXPECT_THAT(refusal(R"({"model": {"type": "BPE", "vocab": {"a": 9000000000}}})"),
                HasSubstr("has the id 9000000000"));
    EXPECT_THAT(refusal(R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]}})"),
                HasSubstr("needs the token \"b\""));
    EXPECT_THAT(refusal(R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": [["a"]]}})"),
                HasSubstr("is not two tokens"));
    EXPECT_THAT(refusal(R"({"model": {"type": "WordPiece", "vocab": {"a": 0}}})"),
                HasSubstr("lacks unk_token, \"[UNK]\""));
    EXPECT_THAT(refusal(R"({"model": {"type": "Unigram", "vocab": [["a", 0.0]], "unk_id": 7}})"), HasSubstr("unk_id"));
    EXPECT_THAT(refusal(R"({"model": {"type": "Unigram", "vocab": [["a"]], "unk_id": 0}})"),
                HasSubstr("a token and its score"));
    EXPECT_THAT(refusal(with(R"("normalizer": {"type": "Odd"})")), HasSubstr("normalizer: the normalizer"));
    EXPECT_THAT(
        refusal(with(R"("pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(a"}, "behavior": "Isolated"})")),
        AllOf(HasSubstr("pre_tokenizer: the expression (a is not understood"), HasSubstr("byte 2")));
    EXPECT_THAT(refusal(with(R"("pre_tokenizer": {"type": "Split", "pattern": {"Regex": "[a&&b]"}})")),
                HasSubstr("intersects classes"));
    EXPECT_THAT(refusal(with(R"("pre_tokenizer": {"type": "Split", "pattern": {"String": "a"}, "behavior": "Odd"})")),
                HasSubstr("the behavior Odd"));
    EXPECT_THAT(
        refusal(with(R"("post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "x"}}]})")),
        HasSubstr("which special_tokens does not name"));
    EXPECT_THAT(refusal(with(R"("post_processor": {"type": "BertProcessing", "sep": ["s", 99], "cls": ["c", 0]})")),
                HasSubstr("no token has the id 99"));
    EXPECT_THAT(refusal(with(R"("decoder": {"type": "Odd"})")), HasSubstr("decoder: the decoder"));
    EXPECT_THAT(refusal(with(R"("added_tokens": [{"content": "x"}])")), HasSubstr("needs content and an id"));
    EXPECT_THAT(refusal(with(R"("normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAAA!"})")),
                HasSubstr("base64"));
    EXPECT_THAT(refusal(with(R"("normalizer": {"type": "Precompiled", "precompiled_charsmap": "////fwAA"})")),
                HasSubstr("is damaged"));
}

TEST(TokenizerRefusals, AnExpressionThatDoesNotEndIsAnError) {
    const auto json = parse_json(
        with(R"("pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated"})"), "t");
    ASSERT_TRUE(json);
    const auto tokenizer = Tokenizer::from_json(*json);
    ASSERT_TRUE(tokenizer) << tokenizer.error().message;
    WordCache cache;
    std::vector<TokenId> ids;
    const auto done = tokenizer->encode(std::string(60, 'a') + "b", false, cache, ids);
    ASSERT_FALSE(done);
    EXPECT_THAT(done.error().message, HasSubstr("a regular expression of the tokenizer fails on the text"));
}

TEST(TokenizerRefusals, AFolderWithoutATokenizerSaysWhatIsMissing) {
    const TempFolder folder;
    const auto tokenizer = Tokenizer::load(folder.path());
    ASSERT_FALSE(tokenizer);
    EXPECT_THAT(tokenizer.error().message, HasSubstr("holds neither tokenizer.json nor vocab.json with merges.txt"));
}

}  // namespace
}  // namespace plimsoll
