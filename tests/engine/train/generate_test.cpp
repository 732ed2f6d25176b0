// SPDX-License-Identifier: Apache-2.0
#include "core/engine/train/generate.h"

#include <gtest/gtest.h>

#include <atomic>

#include "core/base/json.h"
#include "core/engine/model/decoder.h"
#include "core/engine/optimizer/optimizer.h"
#include "tests/support/small_models.h"

namespace plimsoll::engine {
namespace {

using torch::Tensor;

/// Gives the token after the last one (a after z), sharply, and remembers what it was asked.
class Alphabet {
public:
    explicit Alphabet(const Plan& plan, double sharpness = 50)
        : vocab_size_(plan.model.vocab_size), sharpness_(sharpness) {}
    virtual ~Alphabet() = default;
    virtual Tensor behind(const Tensor& tokens) {
        longest = std::max(longest, tokens.size(1));
        Tensor logits = torch::zeros({vocab_size_});
        const auto token = tokens[0][tokens.size(1) - 1].item<std::int64_t>();
        logits[token == 'z' ? 'a' : token + 1] = sharpness_;
        if (vocab_size_ > 256) logits.narrow(0, 256, vocab_size_ - 256).fill_(1000);
        return logits;
    }
    std::int64_t vocab_size() const { return vocab_size_; }
    std::int64_t longest = 0;

private:
    std::int64_t vocab_size_;
    double sharpness_;
};

std::string generate(Alphabet& model, const std::string& prompt, std::int64_t length, double temperature,
                     std::uint64_t seed, std::int64_t max_context, const std::atomic<bool>* stop = nullptr) {
    return engine::generate([&](const Tensor& tokens) { return model.behind(tokens); },
                            TextCodec::bytes(model.vocab_size()), prompt, length, temperature, seed, max_context,
                            [&] { return stop != nullptr && stop->load(); });
}

Plan byte_plan(std::int64_t vocab_size = 256) {
    Plan plan = small_plan("llama-7b");
    plan.model.vocab_size = vocab_size;
    return plan;
}

TEST(Generate, ContinuesThePromptByTheLikeliest) {
    Alphabet model(byte_plan());
    EXPECT_EQ(generate(model, "wx", 5, 0, 1, 100), "wxyzabc");
    EXPECT_EQ(generate(model, "wx", 5, 0.5, 1, 100), "wxyzabc");
    EXPECT_EQ(generate(model, "wx", 0, 0.5, 1, 100), "wx");
}

TEST(Generate, CutsTheContext) {
    Alphabet model(byte_plan());
    EXPECT_EQ(generate(model, "abcdefgh", 3, 0, 1, 4), "abcdefghijk");
    EXPECT_EQ(model.longest, 4);
}

TEST(Generate, IsDeterministicUnderItsSeedAndTakesNoOthersRandomNumbers) {
    Alphabet model(byte_plan(), 3);
    torch::manual_seed(5);
    const float expected = torch::rand({1}).item<float>();
    torch::manual_seed(5);
    const std::string text = generate(model, "a", 40, 1, 7, 100);
    EXPECT_EQ(torch::rand({1}).item<float>(), expected);
    EXPECT_EQ(generate(model, "a", 40, 1, 7, 100), text);
    EXPECT_NE(generate(model, "a", 40, 1, 8, 100), text);
}

TEST(Generate, TemperatureIsTheWidthOfTheChoice) {
    // The next letter has logit 3 and 255 others 0: at temperature 1 its share is e^3 / (e^3 + 255) = 0.073, at 1/2
    // e^6 / (e^6 + 255) = 0.613.
    Alphabet model(byte_plan(), 3);
    for (const auto& [temperature, share] : {std::pair{1.0, 0.073}, std::pair{0.5, 0.613}}) {
        int hits = 0;
        const int draws = 1000;
        for (int seed = 0; seed < draws; ++seed) {
            hits += generate(model, "k", 1, temperature, static_cast<std::uint64_t>(seed), 10) == "kl";
        }
        EXPECT_NEAR(hits / static_cast<double>(draws), share, 4 * std::sqrt(share * (1 - share) / draws));
    }
}

TEST(Generate, OfALargeVocabularyOnlyBytesAreDrawn) {
    Alphabet model(byte_plan(1000));
    EXPECT_EQ(generate(model, "a", 3, 0, 1, 10), "abcd");
    EXPECT_EQ(generate(model, "a", 3, 1, 1, 10), "abcd");
}

TEST(Generate, AnEmptyPromptStartsALine) {
    Alphabet model(byte_plan());
    EXPECT_EQ(generate(model, "", 2, 0, 1, 10), "\x0B\x0C");
}

TEST(Generate, AStopEndsTheTextBetweenTwoTokens) {
    class Stopped : public Alphabet {
    public:
        using Alphabet::Alphabet;
        Tensor behind(const Tensor& tokens) override {
            stop = ++calls == 3;
            return Alphabet::behind(tokens);
        }
        std::atomic<bool> stop{false};
        int calls = 0;
    };
    Stopped model(byte_plan());
    EXPECT_EQ(generate(model, "a", 160, 0, 1, 10, &model.stop), "abcd");  // the token it was at is kept
    EXPECT_EQ(model.calls, 3);
    model.stop = true;
    EXPECT_EQ(generate(model, "a", 160, 0, 1, 10, &model.stop), "a");
    EXPECT_EQ(model.calls, 3);
}

TEST(Generate, AModelThatBrokeEndsTheText) {
    Alphabet model(byte_plan(), std::numeric_limits<double>::quiet_NaN());
    EXPECT_TRUE(generate(model, "a", 3, 1, 1, 10).starts_with("a"));
    class Broken : public Alphabet {
    public:
        using Alphabet::Alphabet;
        Tensor behind(const Tensor&) override {
            return torch::full({vocab_size()}, std::numeric_limits<float>::quiet_NaN());
        }
    };
    Broken broken(byte_plan());
    EXPECT_EQ(generate(broken, "a", 3, 1, 1, 10), "a");
    EXPECT_EQ(generate(broken, "a", 3, 0, 1, 10), "a");
}

TEST(Generate, WritesWhatAModelLearned) {
    // A model of each family learns a sentence by heart.
    const std::string sentence = "the quick brown fox ";
    for (const std::string& preset : {std::string("gpt2"), std::string("llama-2-70b")}) {
        Plan plan = small_plan(preset);
        plan.model.vocab_size = 256;
        plan.model.init_std = 0.05;
        const auto model = make_decoder(plan, 3);
        std::vector<OptimizedPart> parts;
        for (const auto& [name, tensor] : parameters_of(*model)) parts.push_back({name, tensor, tensor.dim() >= 2});
        const auto optimizer = make_optimizer(parts, plan.optimizer, nullptr).value();
        const std::string text = sentence + "t";
        const std::vector<std::int64_t> bytes(text.begin(), text.end());
        const Tensor all = torch::tensor(bytes).unsqueeze(0);
        const Tensor tokens = all.narrow(1, 0, 20), targets = all.narrow(1, 1, 20);
        for (int step = 0; step < 60; ++step) {
            gradients(*model, tokens, targets);
            std::vector<Tensor> list;
            for (const auto& [name, tensor] : parameters_of(*model)) list.push_back(tensor.grad());
            ASSERT_TRUE(optimizer->step(list, 0.01, 1, 1));
        }
        model->eval();
        const auto logits = [&](const Tensor& seen) { return model->forward(seen)[0][seen.size(1) - 1]; };
        EXPECT_EQ(engine::generate(logits, TextCodec::bytes(256), "the q", 14, 0, 1, 20), "the quick brown fox")
            << preset;
    }
}

}  // namespace
}  // namespace plimsoll::engine
