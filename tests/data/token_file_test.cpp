// SPDX-License-Identifier: Apache-2.0
#include "core/data/token_file.h"

#include <gmock/gmock.h>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/data/corpus.h"
#include "tests/support/temp_folder.h"

namespace plimsoll {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class TokenFileTest : public ::testing::Test {
protected:
    void SetUp() override {
        for (int i = 0; i < 1000; ++i) ids.push_back(i * 7 % 300);
        data.path = (folder / "tokens.bin").string();
        data.sequence_length = 16;
        data.validation_fraction = 0.1;
        write(300);
    }
    void write(std::int64_t vocab_size) {
        const Json tokenizer = {{"model", {{"type", "WordLevel"}, {"vocab", {{"word", 0}, {"other", 7}}}}}};
        const auto written = write_token_file(data.path, ids, vocab_size, 3, tokenizer);
        ASSERT_TRUE(written) << written.error().message;
    }
    std::string refusal() const {
        const auto corpus = load_corpus(data);
        return corpus ? "accepted" : corpus.error().message;
    }
    void change(const std::string& key, const Json& value) {
        Json json = *read_json(data.path + ".json");
        json[key] = value;
        put_contents(data.path + ".json", json.dump());
    }

    TempFolder folder;
    std::vector<std::int32_t> ids;
    Data data;
};

TEST_F(TokenFileTest, TokensComeBackInBothWidths) {
    for (const auto& [vocab_size, width] : {std::pair(std::int64_t{300}, 2), {65'536, 2}, {65'537, 4}}) {
        write(vocab_size);
        const auto corpus = load_corpus(data);
        ASSERT_TRUE(corpus) << corpus.error().message;
        EXPECT_EQ(corpus->token_width, width);
        EXPECT_EQ(corpus->vocab_size, vocab_size);
        EXPECT_EQ(corpus->documents, 3U);
        EXPECT_EQ(corpus->name, "tokens.bin");
        ASSERT_EQ(corpus->tokens(), ids.size());
        EXPECT_EQ(corpus->train_size, 900U);
        for (std::size_t i = 0; i < ids.size(); ++i) ASSERT_EQ(token_at(corpus->text, width, i), ids[i]);
    }
}

TEST_F(TokenFileTest, TheBeginningIsShownAsText) {
    const auto beginning = read_corpus_beginning(data, 4);
    ASSERT_TRUE(beginning) << beginning.error().message;
    EXPECT_EQ(beginning->text, "word other");
    EXPECT_EQ(beginning->size, 2000);
    EXPECT_EQ(beginning->train_size, 900U);
    EXPECT_EQ(beginning->token_width, 2);
}

TEST_F(TokenFileTest, TheModelNeedsTheVocabulary) {
    const auto corpus = load_corpus(data);
    ASSERT_TRUE(corpus);
    Plan plan;
    plan.data = data;
    plan.model.vocab_size = 300;
    EXPECT_TRUE(require_vocabulary(*corpus, plan));
    plan.model.vocab_size = 299;
    const auto refused = require_vocabulary(*corpus, plan);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message,
                AllOf(HasSubstr("a vocabulary of 300"), HasSubstr("set model.vocab_size to 300")));
}

TEST_F(TokenFileTest, WhatDoesNotFitTogetherIsNamed) {
    data.sequence_length = 1000;
    EXPECT_THAT(refusal(), HasSubstr("holds 1,000 tokens, but a sequence takes 1,001"));
    data.sequence_length = 16;
    change("tokens", 999);
    EXPECT_THAT(refusal(), HasSubstr("holds 2000 bytes"));
    change("tokens", -1);
    EXPECT_THAT(refusal(), HasSubstr("says no tokens"));
    change("tokens", "many");
    EXPECT_THAT(refusal(), HasSubstr("says no tokens"));
    change("tokens", 1000);
    change("vocab_size", 10);
    EXPECT_THAT(refusal(), AllOf(HasSubstr("holds the token 14 at place 2"), HasSubstr("below 10")));
    change("vocab_size", 300);
    change("dtype", "float");
    EXPECT_THAT(refusal(), HasSubstr("no dtype that is known"));
    change("dtype", "uint16");
    change("xxh64", "12x");
    EXPECT_THAT(refusal(), HasSubstr("says no xxh64"));
    change("xxh64", "12");
    EXPECT_THAT(refusal(), HasSubstr("its bytes have another hash"));
    put_contents(data.path + ".json", "[]");
    EXPECT_THAT(refusal(), HasSubstr("holds no object"));
    put_contents(data.path + ".json", "{");
    EXPECT_THAT(refusal(), HasSubstr("line 1"));
}

TEST_F(TokenFileTest, WithoutItsDescriptionItIsNoText) {
    std::filesystem::remove(data.path + ".json");
    EXPECT_FALSE(is_token_file(data.path));
    EXPECT_THAT(refusal(), AllOf(HasSubstr("is not text"), HasSubstr("plimsoll tokenize -o")));
}

TEST_F(TokenFileTest, ANameWithoutBinIsRefusedAndNothingWritten) {
    const auto written = write_token_file(folder / "tokens.txt", ids, 300, 1, Json::object());
    ASSERT_FALSE(written);
    EXPECT_THAT(written.error().message, HasSubstr("does not end in .bin"));
    EXPECT_FALSE(std::filesystem::exists(folder / "tokens.txt"));
}

}  // namespace
}  // namespace plimsoll
