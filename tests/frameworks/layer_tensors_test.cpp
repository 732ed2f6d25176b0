// SPDX-License-Identifier: Apache-2.0
#include "core/frameworks/layer_tensors.h"
#include "tests/support/plans.h"

namespace plimsoll {
namespace {

Count statistics(const std::vector<KeptTensor>& tensors) {
    Count bytes;
    for (const auto& tensor : tensors)
        if (tensor.what == "norm statistics") bytes += tensor.bytes;
    return bytes;
}

// Korthikanti et al. 2022, table 2: s b h (34 + 5 a s / h), with tensor parallelism (10 + 24 / t + 5 a s / (h t)), with
// sequence parallelism 1 / t of the first; norm statistics are not in the paper.
TEST(LayerTensors, Gpt2BlockIsKorthikantis) {
    const std::int64_t s = 1024, b = 1, h = 768, a = 12, sbh = s * b * h, scores = 5 * a * s * s * b;
    const auto layer = [](const std::vector<std::string>& settings) {
        auto all = settings;
        all.insert(all.end(), {"numerics.attention=eager", "model.dropout=0.1", "data.sequence_length=1024"});
        const auto tensors = layer_tensors(workload_of(gpu_plan("gpt2", all), Framework::Megatron), Block::Decoder);
        return sum(tensors) - statistics(tensors);
    };
    EXPECT_EQ(layer({}), 34 * sbh + scores);
    EXPECT_EQ(layer({"layout.tp=4"}), 10 * sbh + 24 * sbh / 4 + scores / 4);
    EXPECT_EQ(layer({"layout.tp=4", "layout.sequence_parallel=true"}), 34 * sbh / 4 + scores / 4);
}

// Figure 1 of the paper with sequence parallelism and selective recomputation, in GiB a rank: 22B (L 48, h 6144, a 64,
// micro-batch 4, tp 8) and 175B (L 96, tp 8, pp 8, interleaved with 3 chunks: (1 + 7 / (8 x 3)) of what 1F1B keeps).
TEST(LayerTensors, FigureOneOfThePaper) {
    const auto activations = [](std::vector<std::string> settings) {
        settings.insert(settings.end(), {"numerics.attention=eager", "model.dropout=0.1", "layout.tp=8",
                                         "layout.sequence_parallel=true"});
        Count bytes;
        for (const auto& tensor :
             layer_tensors(workload_of(gpu_plan("gpt-3-175b", settings), Framework::Megatron), Block::Decoder))
            if (!tensor.what.starts_with("softmax") && tensor.what != "norm statistics") bytes += tensor.bytes;
        return static_cast<double>(bytes.value()) / static_cast<double>(GiB);
    };
    EXPECT_NEAR(48 * activations({"model.hidden_size=6144", "model.num_heads=64", "model.num_kv_heads=64",
                                  "model.ffn_hidden_size=24576", "model.num_layers=48", "layout.micro_batch=4"}),
                9.56, 0.01);
    EXPECT_NEAR(96 * (1 + 7.0 / 24) * activations({}), 12.35, 0.01);
}

TEST(LayerTensors, FlashAttentionKeepsNoScores) {
    const auto plan = gpu_plan("llama-7b");
    const auto tensors = layer_tensors(workload_of(plan, Framework::Megatron), Block::Decoder);
    const std::int64_t tokens = 2048, h = 4096, f = 11008;
    // gate, up and product; the activated gate is worked out again
    EXPECT_EQ(sum(tensors), 2 * tokens * (4 * h + 4 * h + 3 * f) + 4 * 32 * tokens + 2 * 4 * tokens);
}

TEST(LayerTensors, FrozenMatricesNeedNoInput) {
    auto work = workload_of(gpu_plan("llama-7b"), Framework::HfTrainer);
    const auto whole = sum(layer_tensors(work, Block::Decoder));
    work.adapters = {8, 2};
    EXPECT_LT(sum(layer_tensors(work, Block::Decoder)), whole);
}

}  // namespace
}  // namespace plimsoll
