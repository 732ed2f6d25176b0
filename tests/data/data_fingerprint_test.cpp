// SPDX-License-Identifier: Apache-2.0
#include "core/data/data_fingerprint.h"

#include <gmock/gmock.h>

#include "core/data/corpus.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

Corpus some_corpus() {
    Corpus corpus;
    for (int i = 0; i < 5000; ++i) corpus.text += static_cast<char>('a' + i * i % 26);
    corpus.train_size = 4500;
    return corpus;
}

Plan some_plan() {
    Plan plan;
    plan.data.sequence_length = 16;
    return plan;
}

TEST(DataFingerprint, IsOfEveryByteAndOfTheOrder) {
    const Corpus corpus = some_corpus();
    const Plan plan = some_plan();
    const DataFingerprint whole = fingerprint_of(corpus, plan);
    EXPECT_TRUE(whole.known());
    EXPECT_EQ(whole.bytes, 5000);
    EXPECT_EQ(fingerprint_of(corpus, plan), whole);
    for (const std::size_t at : {std::size_t{0}, std::size_t{2500}, corpus.text.size() - 1}) {
        Corpus other = corpus;
        other.text[at] ^= 1;
        EXPECT_NE(fingerprint_of(other, plan).text, whole.text) << at;
        EXPECT_EQ(fingerprint_of(other, plan).order, whole.order) << at;
    }
    Plan other = plan;
    other.training.seed = 2;
    EXPECT_NE(fingerprint_of(corpus, other).order, whole.order);
    other = plan;
    other.data.sequence_length = 17;
    EXPECT_NE(fingerprint_of(corpus, other).order, whole.order);
    Corpus less = corpus;
    less.train_size = 4400;
    EXPECT_NE(fingerprint_of(less, plan).order, whole.order);
    EXPECT_EQ(fingerprint_of(less, plan).text, whole.text);
    other = plan;
    other.data.path = "elsewhere";
    other.layout.dp = 1;
    other.layout.micro_batch = 1;
    EXPECT_EQ(fingerprint_of(corpus, other), whole) << "where it lies and who reads it is no part of it";
}

TEST(DataFingerprint, SaysWhatIsAnotherAndWhatToDo) {
    const Corpus corpus = some_corpus();
    const DataFingerprint then = fingerprint_of(corpus, some_plan());
    EXPECT_TRUE(require_trained_on(then, then, "text.txt", "run/checkpoints/step-00000003"));
    DataFingerprint now = then;
    now.text ^= 1;
    const auto other_text = require_trained_on(then, now, "text.txt", "run/checkpoints/step-00000003");
    ASSERT_FALSE(other_text);
    EXPECT_EQ(other_text.error().kind, Error::Kind::BadInput);
    EXPECT_THAT(other_text.error().message, HasSubstr("text.txt (data.path) is not the text that the run was trained"));
    EXPECT_THAT(other_text.error().message, HasSubstr("5,000 bytes with the hash"));
    EXPECT_THAT(other_text.error().message, HasSubstr("model.weights=run/checkpoints/step-00000003"));
    now = then;
    now.order ^= 1;
    EXPECT_THAT(require_trained_on(then, now, "text.txt", "c").error().message, HasSubstr("in another order"));
}

}  // namespace
}  // namespace plimsoll
