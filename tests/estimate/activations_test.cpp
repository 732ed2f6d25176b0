// SPDX-License-Identifier: Apache-2.0
#include "core/estimate/activations.h"

#include <gtest/gtest.h>

#include "tests/support/plans.h"

namespace plimsoll {
namespace {

Count without_statistics(std::vector<SavedTensor> tensors, Recompute mode = Recompute::None) {
    std::erase_if(tensors, [](const SavedTensor& tensor) { return tensor.kind == SavedKind::Statistics; });
    return kept(tensors, mode);
}

std::int64_t layer(const Plan& plan, Recompute mode = Recompute::None) {
    return without_statistics(saved_tensors(plan, LayerKind::Decoder), mode).value();
}

/// A GPT block as in Korthikanti et al. 2022: fp16, dropout, unfused attention, f = 4 h.
struct Gpt {
    explicit Gpt(const std::string& preset, std::vector<std::string> settings = {}) {
        settings.insert(settings.begin(), {"numerics.dtype=fp16", "numerics.attention=eager", "layout.micro_batch=2"});
        plan = gpu_plan(preset, settings);
        s = plan.data.sequence_length, b = 2, h = plan.model.hidden_size, a = plan.model.num_heads;
    }
    Plan plan;
    std::int64_t s, b, h, a;
};

// Half as many bytes for bf16 and a scale a block; log-sum-exp and the norms' statistics as they are.
TEST(Compression, TakesTheFloatingPointTensors) {
    const auto plan = gpu_plan("llama-7b");
    const std::int64_t s = 2048, small = 4 * 32 * s + 2 * 4 * s;
    const auto tensors = saved_tensors(plan, LayerKind::Decoder);
    const auto whole = kept(tensors, Recompute::None).value();
    EXPECT_EQ(kept(compressed(tensors), Recompute::None).value(), (whole - small) / 2 * 65 / 64 + small);
    EXPECT_EQ(kept(compressed(tensors), Recompute::Full).value(), s * 4096 * 65 / 64);
}

TEST(Compression, LeavesDropoutMasks) {
    const auto plan = gpu_plan("gpt2", {"model.dropout=0.1", "numerics.attention=eager"});
    const auto tensors = saved_tensors(plan, LayerKind::Decoder), packed = compressed(tensors);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        const bool stays = tensors[i].what.find("mask") != std::string_view::npos ||
                           tensors[i].what.find("statistics") != std::string_view::npos;
        EXPECT_EQ(packed[i].bytes == tensors[i].bytes, stays) << tensors[i].what;
    }
}

TEST(Korthikanti, BlockWithoutParallelism) {
    for (const auto& preset : {"gpt2", "gpt2-xl", "gpt-3-175b"}) {
        const Gpt g(preset);
        EXPECT_EQ(layer(g.plan), 34 * g.s * g.b * g.h + 5 * g.a * g.s * g.s * g.b) << preset;
    }
}

TEST(Korthikanti, TensorParallel) {
    const Gpt g("gpt-3-175b", {"layout.tp=8"});
    EXPECT_EQ(layer(g.plan), g.s * g.b * (10 * g.h + 24 * g.h / 8) + 5 * g.a * g.s * g.s * g.b / 8);
}

TEST(Korthikanti, TensorAndSequenceParallel) {
    const Gpt g("gpt-3-175b", {"layout.tp=8", "layout.sequence_parallel=true"});
    // Plimsoll's engine keeps what the column-parallel products took as it was gathered, the paper gathers again.
    const auto gathered = 2 * 2 * g.s * g.b * g.h * 7 / 8;
    EXPECT_EQ(layer(g.plan), 34 * g.s * g.b * g.h / 8 + gathered + 5 * g.a * g.s * g.s * g.b / 8);
}

TEST(Korthikanti, SelectiveRecomputationDropsTheScores) {
    const Gpt g("gpt-3-175b");
    EXPECT_EQ(layer(g.plan, Recompute::Selective), 34 * g.s * g.b * g.h);
    const Gpt tp("gpt-3-175b", {"layout.tp=8"});
    EXPECT_EQ(layer(tp.plan, Recompute::Selective), g.s * g.b * (10 * g.h + 24 * g.h / 8));
    const Gpt sp("gpt-3-175b", {"layout.tp=8", "layout.sequence_parallel=true"});
    EXPECT_EQ(layer(sp.plan, Recompute::Selective), 34 * g.s * g.b * g.h / 8 + 4 * g.s * g.b * g.h * 7 / 8);
}

TEST(Korthikanti, FullRecomputationKeepsTheInput) {
    const Gpt g("gpt-3-175b");
    EXPECT_EQ(layer(g.plan, Recompute::Full), 2 * g.s * g.b * g.h);
}

// Figure 1 and table 3 of the paper without sequence parallelism (tests/frameworks has it with), in GiB a rank: 22B (L
// 48, h 6144, a 64, micro-batch 4, tp 8) and 175B (L 96, h 12288, a 96, micro-batch 1, tp 8, pp 8, interleaved with 3
// chunks: (1 + 7 / (8 x 3)) of what 1F1B keeps).
TEST(Korthikanti, FigureOneOfThePaper) {
    const auto activations = [](const Plan& plan) {
        const auto one = saved_tensors(plan, LayerKind::Decoder);
        return static_cast<double>(without_statistics(one, plan.layout.recompute).value()) / static_cast<double>(GiB);
    };
    const std::vector<std::string> small{"model.hidden_size=6144",      "model.num_heads=64",  "model.num_kv_heads=64",
                                         "model.ffn_hidden_size=24576", "model.num_layers=48", "layout.micro_batch=4",
                                         "numerics.attention=eager",    "layout.tp=8"};
    EXPECT_NEAR(48 * activations(gpu_plan("gpt-3-175b", small)), 59.25, 0.01);

    const double interleaved = 96 * (1 + 7.0 / 24);
    EXPECT_NEAR(interleaved * activations(gpu_plan("gpt-3-175b", {"numerics.attention=eager", "layout.tp=8"})), 66.8,
                0.1);
}

TEST(SavedTensors, LlamaLayerWithFlashAttention) {
    const auto plan = gpu_plan("llama-3-8b");
    const std::int64_t sb = 2048, h = 4096, q = 4096, k = 1024, f = 14336, a = 32;
    EXPECT_EQ(layer(plan), 2 * sb * (4 * h + 2 * q + 2 * k + 4 * f) + 4 * a * sb);
    EXPECT_EQ(layer(plan, Recompute::Selective), 2 * sb * (4 * h + 2 * q + 2 * k + 4 * f));
    EXPECT_EQ(layer(plan, Recompute::Full), 2 * sb * h);
    // RMSNorm keeps one fp32 number a token.
    EXPECT_EQ(kept(saved_tensors(plan, LayerKind::Decoder), Recompute::None).value() - layer(plan), 2 * 4 * sb);
}

TEST(SavedTensors, EagerAttentionKeepsScoresAndRepeatedHeads) {
    const auto plan = gpu_plan("llama-3-8b", {"numerics.attention=eager"});
    const std::int64_t sb = 2048, s = 2048, h = 4096, q = 4096, k = 1024, f = 14336, a = 32;
    EXPECT_EQ(layer(plan), 2 * sb * (4 * h + 2 * q + 2 * k + 4 * f) + 2 * a * s * sb + 2 * 2 * sb * (q - k));
}

TEST(SavedTensors, SelectiveRecomputationKeepsUnrepeatedHeads) {
    const auto eager = gpu_plan("llama-3-8b", {"numerics.attention=eager"});
    EXPECT_EQ(layer(eager, Recompute::Selective), layer(gpu_plan("llama-3-8b"), Recompute::Selective));
}

TEST(SavedTensors, RecomputingTheMlpKeepsWhatAttentionReadsAndBothInputs) {
    const std::int64_t sb = 2048, h = 4096, q = 4096, k = 1024, a = 32;
    EXPECT_EQ(layer(gpu_plan("llama-3-8b"), Recompute::Mlp), 2 * sb * (2 * h + 2 * q + 2 * k) + 4 * a * sb);
    // The softmax is made again, so nothing of it stays.
    const auto eager = gpu_plan("llama-3-8b", {"numerics.attention=eager"});
    EXPECT_EQ(layer(eager, Recompute::Mlp), 2 * sb * (2 * h + 2 * q + 2 * k));
    // Two attentions and an MLP.
    const auto t5 = gpu_plan("t5-11b", {"numerics.attention=eager"});
    const auto tensors = saved_tensors(t5, LayerKind::T5Decoder);
    const std::int64_t s = t5.data.sequence_length * t5.layout.micro_batch, width = 128 * 128;
    EXPECT_EQ(without_statistics(tensors, Recompute::Mlp).value(), 2 * s * (3 * 1024 + 2 * 4 * width));
}

TEST(BackwardPeak, HoldsTheMlpGradientsAndTheRecomputedLayer) {
    const auto plan = gpu_plan("llama-3-8b");
    const auto tensors = saved_tensors(plan, LayerKind::Decoder);
    const std::int64_t hidden = 2 * 2048 * 4096, inner = 2 * 2048 * 14336, matrix = 2 * 4096 * 14336;
    EXPECT_EQ(backward_peak(plan, tensors, Recompute::None).value(), inner + matrix + hidden);
    EXPECT_EQ(backward_peak(plan, tensors, Recompute::Full),
              kept(tensors, Recompute::None) - kept(tensors, Recompute::Full) + inner + matrix + 2 * hidden);
}

TEST(BackwardPeak, LongSequencesPeakAtTheScores) {
    const auto plan = gpu_plan("llama-3-8b", {"numerics.attention=eager", "data.sequence_length=8192"});
    const auto tensors = saved_tensors(plan, LayerKind::Decoder);
    const std::int64_t sb = 8192, h = 4096, f = 14336, scores = 2LL * 32 * 8192 * 8192;
    const std::int64_t after_core = 2 * sb * (h + 2 * h + 4 * f) + 4 * sb;
    EXPECT_EQ(backward_peak(plan, tensors, Recompute::None).value(), 2 * scores - after_core + 2 * sb * h);
}

TEST(SavedTensors, Fp32IsTwiceHalfPrecisionExceptWhatIsFp32Anyway) {
    const auto half = layer(gpu_plan("llama-7b")), full = layer(gpu_plan("llama-7b", {"numerics.dtype=fp32"}));
    const std::int64_t log_sum_exp = 4 * 32 * 2048;
    EXPECT_EQ(full - log_sum_exp, 2 * (half - log_sum_exp));
}

TEST(SavedTensors, ContextParallelSplitsTheSequence) {
    EXPECT_EQ(4 * layer(gpu_plan("llama-7b", {"layout.cp=4"})), layer(gpu_plan("llama-7b")));
    // The ring goes block by block and keeps no scores, whatever attention is without it.
    EXPECT_EQ(4 * layer(gpu_plan("llama-7b", {"layout.cp=4", "numerics.attention=eager"})),
              layer(gpu_plan("llama-7b")));
}

// Mixtral: E 8, K 2, h 4096, f 14336. The dense part is Mistral's: q 4096, k 1024.
TEST(SavedTensors, MixtureOfExpertsKeepsTheRoutedTokens) {
    const std::int64_t sb = 2048, h = 4096, q = 4096, k = 1024, f = 14336, a = 32;
    EXPECT_EQ(layer(gpu_plan("mixtral-8x7b")), 2 * sb * (4 * h + 2 * q + 2 * k) + 4 * a * sb + 4 * sb * 8 +
                                                   (28 * 2 + 4) * sb + 2 * 2 * sb * (2 * h + 4 * f));
}

// T5 11B: h 1024, q = k = 16384, f 65536, ReLU, dropout inside the MLP.
TEST(SavedTensors, T5DecoderAlsoKeepsCrossAttention) {
    const auto plan = gpu_plan("t5-11b", {"data.sequence_length=512"});
    const std::int64_t sb = 512, h = 1024, q = 16384, f = 65536, a = 128;
    const std::int64_t attention = 2 * sb * (2 * h + 4 * q) + 4 * a * sb + sb * h;
    const std::int64_t mlp = 2 * sb * (2 * h + 2 * f) + sb * f + sb * h;
    EXPECT_EQ(without_statistics(saved_tensors(plan, LayerKind::T5Encoder)).value(), attention + mlp);
    EXPECT_EQ(without_statistics(saved_tensors(plan, LayerKind::T5Decoder)).value(), 2 * attention + mlp);
}

}  // namespace
}  // namespace plimsoll
