// SPDX-License-Identifier: Apache-2.0
// Bytes that compressed activations and the chunked loss save. In a program of its own, for the counter replaces the
// allocator of the process.
#include <gtest/gtest.h>

#include "core/engine/activations/saved_tensors.h"
#include "core/engine/memory/memory_counter.h"
#include "core/engine/model/chunked_loss.h"
#include "tests/support/small_models.h"

namespace plimsoll::engine {
namespace {

using torch::Tensor;

class SavedMemory : public ::testing::Test {
protected:
    SavedMemory() { install_memory_counter(); }
};

SavedPolicy compressing() { return {true, false, 1024, {}}; }

/// Bytes that a graph keeps once `make` has returned its output.
template <class Make>
Bytes kept_by(const SavedPolicy& policy, const Make& make) {
    const Bytes before = memory_now();
    Tensor output;
    {
        const SavedTensors scope(policy);
        output = make();
    }
    return memory_now() - before - static_cast<Bytes>(output.nbytes());
}

TEST_F(SavedMemory, ATensorThatManySaveIsKeptOnceInAFourthOfItsBytes) {
    const Tensor x = torch::randn({64, 256}), wq = torch::randn({8, 256}).requires_grad_(),
                 wk = torch::randn({8, 256}).requires_grad_(), wv = torch::randn({8, 256}).requires_grad_();
    const auto make = [&] {
        const Tensor hidden = x * 2;
        const Tensor other_shape = hidden.view({4, 16, 256});
        return at::linear(hidden, wq).sum() + at::linear(hidden, wk).sum() + at::linear(other_shape, wv).sum();
    };
    const Bytes numbers = 64 * 256;
    EXPECT_GE(kept_by({}, make), 4 * numbers);
    EXPECT_LT(kept_by({}, make), 4 * numbers + 512);
    EXPECT_GE(kept_by(compressing(), make), numbers + 4 * numbers / 256);
    EXPECT_LT(kept_by(compressing(), make), numbers + 4 * numbers / 256 + 512);
}

TEST_F(SavedMemory, ModelsKeepLess) {
    for (const std::string preset : {"gpt2", "llama-7b"}) {
        Plan plan = small_plan(preset);
        plan.model.hidden_size = 128;
        plan.model.ffn_hidden_size = 512;
        plan.model.max_position = 128;
        const auto model = make_decoder(plan, 3);
        const Tensor tokens = random_tokens(plan, 4, 128);
        const SavedPolicy policy{true, false, 4 * 128 * plan.model.num_heads + 1, {}};
        const auto forward = [&] { return model->forward(tokens); };
        const Bytes plain = kept_by({}, forward), compressed = kept_by(policy, forward);
        EXPECT_LT(static_cast<double>(compressed), 0.4 * static_cast<double>(plain)) << preset;
        EXPECT_EQ(kept_by({false, true, 1, {}}, forward), plain) << "on a CPU, offload moves nothing";
    }
}

TEST_F(SavedMemory, TheBackwardPassFreesEverything) {
    const Plan plan = small_plan("llama-7b");
    const auto model = make_decoder(plan, 3);
    const Tensor tokens = random_tokens(plan, 2, 24);
    const auto step = [&] {
        const SavedTensors scope(compressing());
        language_model_loss(model->forward(tokens), tokens).backward();
    };
    step();  // makes the gradients
    const Bytes before = memory_now();
    step();
    EXPECT_EQ(memory_now(), before);
}

/// Peak of loss and backward pass over what was there before.
Bytes loss_peak(std::int64_t chunks) {
    constexpr std::int64_t tokens = 512, width = 32, vocab = 4096;
    torch::manual_seed(6);
    const Tensor hidden = torch::randn({2, tokens / 2, width}).requires_grad_();
    const Tensor weight = torch::randn({vocab, width}).requires_grad_();
    const Tensor targets = torch::randint(vocab, {2, tokens / 2});
    const Bytes before = memory_now();
    reset_memory_peak();
    const Tensor loss = chunks == 0 ? language_model_loss(at::linear(hidden, weight), targets)
                                    : chunked_language_model_loss(hidden, weight, targets, chunks);
    loss.backward();
    return memory_peak() - before;
}

TEST_F(SavedMemory, ChunkedLossHoldsOnePiecesLogits) {
    const Bytes logits = Bytes{4} * 512 * 4096, gradients = Bytes{4} * (4096 * 32 + 512 * 32);
    EXPECT_GT(loss_peak(0), 2 * logits);
    for (const std::int64_t chunks : {4, 16}) {
        EXPECT_GE(loss_peak(chunks), logits / chunks + gradients);
        EXPECT_LT(loss_peak(chunks), logits / chunks + gradients + 256 * 1024) << chunks;
    }
}

}  // namespace
}  // namespace plimsoll::engine
