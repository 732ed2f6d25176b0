// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fmt/ranges.h>

#include <array>
#include <fstream>

#include "core/base/json.h"
#include "core/plan/parameters.h"
#include "tests/support/plans.h"

namespace plimsoll {
namespace {

/// A model of 7,500,0xx,xxx parameters: LLaMA's shape with 36 layers and f 10900.
Plan zero_paper_plan(const std::string& stage) {
    auto plan = gpu_plan("llama-7b", {"model.num_layers=36", "model.ffn_hidden_size=10900", "layout.dp=64",
                                      "layout.zero_stage=" + stage});
    EXPECT_NEAR(static_cast<double>(count_parameters(plan.model).total), 7.5e9, 1e6);
    return plan;
}

// Rajbhandari et al. 2020, table 1: 7.5B parameters on 64 ranks, in GB.
TEST(ZeroPaper, TableOne) {
    const auto gigabytes = [](const std::string& stage) {
        return static_cast<double>(states(estimated(zero_paper_plan(stage)).stages.at(0))) / 1e9;
    };
    EXPECT_NEAR(gigabytes("0"), 120, 0.05);
    EXPECT_NEAR(gigabytes("1"), 31.4, 0.05);
    EXPECT_NEAR(gigabytes("2"), 16.6, 0.05);
    EXPECT_NEAR(gigabytes("3"), 1.88, 0.01);
}

TEST(ModelStates, SixteenBytesAParameterInBf16) {
    const auto rank = estimated(gpu_plan("llama-7b")).stages.at(0);
    EXPECT_EQ(bytes_of_term(rank, "parameters"), 2 * 6'738'415'616);
    EXPECT_EQ(bytes_of_term(rank, "gradients"), 2 * 6'738'415'616);
    EXPECT_EQ(bytes_of_term(rank, "master_weights"), 4 * 6'738'415'616);
    EXPECT_EQ(bytes_of_term(rank, "adam_moments"), 8 * 6'738'415'616);
}

TEST(ModelStates, Fp32WeightsAreTheirOwnMasters) {
    const auto rank = estimated(gpu_plan("gpt2", {"numerics.dtype=fp32"})).stages.at(0);
    EXPECT_EQ(rank.find("master_weights"), nullptr);
    EXPECT_EQ(states(rank), 16 * 124'439'808);
}

/// Bytes of a parameter's weight, gradient, fp32 copy, compensation and moments.
void expect_bytes(const std::vector<std::string>& settings, const std::array<std::int64_t, 5>& expected) {
    constexpr std::int64_t p = 6'738'415'616;
    const auto rank = estimated(gpu_plan("llama-7b", settings)).stages.at(0);
    const auto each = [&](const char* key) { return rank.find(key) == nullptr ? 0 : bytes_of_term(rank, key) / p; };
    const auto recipe = fmt::format("{}", fmt::join(settings, " "));
    EXPECT_EQ(each("parameters"), expected[0]) << recipe;
    EXPECT_EQ(each("gradients"), expected[1]) << recipe;
    EXPECT_EQ(each("master_weights"), expected[2]) << recipe;
    EXPECT_EQ(each("compensation"), expected[3]) << recipe;
    EXPECT_EQ(each("adam_moments") + each("momentum") + each("adam_moments_8bit"), expected[4]) << recipe;
}

TEST(PrecisionRecipes, EachKeepsItsBytesAParameter) {
    expect_bytes({}, {2, 2, 4, 0, 8});
    expect_bytes({"optimizer.state_dtype=bf16"}, {2, 2, 4, 0, 4});
    expect_bytes({"numerics.weights=autocast"}, {4, 4, 0, 0, 8});
    expect_bytes({"numerics.dtype=fp16", "numerics.weights=autocast"}, {4, 4, 0, 0, 8});
    expect_bytes({"numerics.weights=pure"}, {2, 2, 0, 0, 8});
    expect_bytes({"numerics.weights=pure", "numerics.fp32_gradients=true"}, {2, 4, 0, 0, 8});
    expect_bytes({"numerics.weights=pure", "numerics.rounding=stochastic", "optimizer.state_dtype=bf16"},
                 {2, 2, 0, 0, 4});
    expect_bytes({"numerics.weights=pure", "numerics.rounding=kahan", "optimizer.state_dtype=bf16"}, {2, 2, 0, 2, 4});
    expect_bytes({"numerics.weights=pure", "optimizer.kind=adamw-8bit"}, {2, 2, 0, 0, 2});
    expect_bytes({"optimizer.kind=sgd", "optimizer.state_dtype=bf16"}, {2, 2, 4, 0, 2});
}

// torchtune 0.6, "Memory optimization overview" and its Llama-2-7B full_finetune_single_device recipe: weights and
// gradients in bf16 are 27 GB with SGD without momentum, and two moments in bf16 make it 54 GB.
TEST(PrecisionRecipes, AreTorchtunesFiguresOfLlama2InPureBf16) {
    const auto gigabytes = [](std::vector<std::string> settings) {
        settings.insert(settings.end(), {"numerics.weights=pure", "optimizer.state_dtype=bf16"});
        return static_cast<double>(states(estimated(gpu_plan("llama-7b", settings)).stages.at(0))) / 1e9;
    };
    EXPECT_NEAR(gigabytes({"optimizer.kind=sgd", "optimizer.momentum=0"}), 27, 0.1);
    EXPECT_NEAR(gigabytes({}), 54, 0.2);
}

// torchtune's "Memory optimization overview", Llama-3.2-3B on one card, batch 2 x 4096, peaks of
// torch.cuda.max_memory_allocated: 60.0 GiB in pure bf16 with packed data, 8.5 with checkpointing, a chunked loss and
// LoRA of rank 8.
TEST(PrecisionRecipes, AreTorchtunesPeaksOfLlama32) {
    const auto gib = [](std::vector<std::string> settings) {
        settings.insert(settings.end(),
                        {"model.hidden_size=3072", "model.num_layers=28", "model.num_heads=24", "model.num_kv_heads=8",
                         "model.head_dim=128", "model.ffn_hidden_size=8192", "model.vocab_size=128256",
                         "model.tied_head=true", "model.max_position=131072", "layout.micro_batch=2",
                         "data.sequence_length=4096", "numerics.weights=pure", "optimizer.state_dtype=bf16"});
        const auto rank = estimated(gpu_plan("llama-3-8b", settings)).stages.at(0);
        return static_cast<double>(rank.total() - rank.of(Category::Overhead)) / static_cast<double>(GiB);
    };
    EXPECT_NEAR(gib({}), 60.0, 0.03 * 60.0);
    EXPECT_NEAR(gib({"layout.loss_chunks=8", "layout.recompute=full", "adapter.rank=8"}), 8.5, 0.03 * 8.5);
}

TEST(PrecisionRecipes, AreShardedAsTheirStagesSay) {
    constexpr std::int64_t p = 6'738'415'616;
    const auto rank = [](const char* stage, const char* weights, std::vector<std::string> more) {
        more.insert(more.end(), {fmt::format("numerics.weights={}", weights), "layout.dp=4",
                                 fmt::format("layout.zero_stage={}", stage)});
        return estimated(gpu_plan("llama-7b", more)).stages.at(0);
    };
    EXPECT_EQ(bytes_of_term(rank("1", "pure", {"numerics.rounding=kahan"}), "compensation"), 2 * p / 4);
    EXPECT_EQ(bytes_of_term(rank("0", "pure", {"numerics.rounding=kahan"}), "compensation"), 2 * p);
    EXPECT_EQ(bytes_of_term(rank("2", "autocast", {}), "parameters"), 4 * p);
    EXPECT_EQ(bytes_of_term(rank("2", "autocast", {}), "gradients"), 4 * p / 4);
    EXPECT_EQ(bytes_of_term(rank("3", "autocast", {}), "parameters"), 4 * p / 4);
}

TEST(ModelStates, Fp32GradientsTakeFourBytes) {
    const auto rank = estimated(gpu_plan("gpt2", {"numerics.fp32_gradients=true"})).stages.at(0);
    EXPECT_EQ(bytes_of_term(rank, "gradients"), 4 * 124'439'808);
}

// The 175B shape has 174,604,259,328 parameters (transformers' GPT2LMHeadModel); 16 B each.
Bytes optimizer_bytes(const std::string& key, const std::string& preset, std::vector<std::string> settings) {
    const auto rank = estimated(gpu_plan(preset, settings)).stages.at(0);
    EXPECT_EQ(rank.find("adam_moments") != nullptr, key == "adam_moments");
    return bytes_of_term(rank, key);
}

TEST(OptimizerStates, EachOptimizerKeepsItsOwn) {
    const std::int64_t p = 6'738'415'616;
    EXPECT_EQ(optimizer_bytes("lamb_moments", "llama-7b", {"optimizer.kind=lamb"}), 8 * p);
    EXPECT_EQ(optimizer_bytes("momentum", "llama-7b", {"optimizer.kind=sgd"}), 4 * p);
    EXPECT_EQ(optimizer_bytes("momentum", "llama-7b", {"optimizer.kind=sgd", "optimizer.momentum=0"}), 0);
    // Two moments of a byte, and for each block of 256 a scale of 4.
    EXPECT_EQ(optimizer_bytes("adam_moments_8bit", "llama-7b", {"optimizer.kind=adamw-8bit"}),
              2 * (p + 4 * (p / 256)) + 2 * (MiB + KiB));
    EXPECT_EQ(optimizer_bytes("adam_moments_8bit", "llama-7b",
                              {"optimizer.kind=adamw-8bit", "layout.dp=4", "layout.zero_stage=1"}),
              2 * (p / 4 + 4 * (p / 4 / 256)) + 2 * (MiB + KiB));
}

TEST(OptimizerStates, AdafactorKeepsARowAndAColumn) {
    // LLaMA-7B, h 4096, f 11008: q, k, v, o 8192 each, gate, up, down 15104 each, two norms.
    const std::int64_t layer = 4 * 8192 + 3 * 15104 + 2 * 4096;
    EXPECT_EQ(optimizer_bytes("second_moment_factors", "llama-7b", {"optimizer.kind=adafactor"}),
              4 * (32 * layer + 2 * (32000 + 4096) + 4096));
    // GPT-2, h 768: one matrix 768 x 2304 for q, k and v, biases whole, learned positions, a tied head.
    const std::int64_t block = (768 + 2304) + (768 + 768) + (2304 + 768) + 2 * (768 + 3072) + (3072 + 768) + 4 * 768;
    EXPECT_EQ(optimizer_bytes("second_moment_factors", "gpt2", {"optimizer.kind=adafactor"}),
              4 * (12 * block + (50257 + 768) + (1024 + 768) + 2 * 768));
    // A shard has some of the rows, and all columns: 32 x (4 + 2) x 4096 of attention and up, 11008 of down, and so on.
    const std::int64_t columns = 32 * (4 * 4096 + 2 * 4096 + 11008) + 2 * 4096;
    const std::int64_t rows = 32 * layer + 2 * (32000 + 4096) + 4096 - columns;
    EXPECT_EQ(optimizer_bytes("second_moment_factors", "llama-7b",
                              {"optimizer.kind=adafactor", "layout.dp=4", "layout.zero_stage=1"}),
              4 * (rows / 4 + columns));
    // Mixtral: eight experts and a router of 8 x 4096.
    const std::int64_t moe = (4096 + 4096) * 2 + (4096 + 1024) * 2 + 8 * 3 * (4096 + 14336) + (8 + 4096) + 2 * 4096;
    EXPECT_EQ(optimizer_bytes("second_moment_factors", "mixtral-8x7b", {"optimizer.kind=adafactor"}),
              4 * (32 * moe + 2 * (32000 + 4096) + 4096));
}

TEST(OptimizerStates, MoveToTheHostToo) {
    const auto estimate = estimated(gpu_plan(
        "llama-7b", {"layout.dp=4", "layout.zero_stage=2", "layout.offload_optimizer=cpu", "optimizer.kind=sgd"}));
    EXPECT_EQ(bytes_of_term(estimate.stages.at(0), "momentum"), 0);
    EXPECT_EQ(estimate.host, (4 + 4 + 4) * 6'738'415'616 / 4);
}

TEST(ModelStates, Gpt3OverItsRanks) {
    const auto whole = estimated(gpu_plan("gpt-3-175b")).stages.at(0);
    EXPECT_EQ(states(whole), 16 * 174'604'259'328);
    const auto plan = gpu_plan("gpt-3-175b", {"layout.tp=8", "layout.pp=8", "layout.accumulation=8"});
    double all = 0;
    for (const auto& stage : estimated(plan).stages) all += 8.0 * static_cast<double>(states(stage));
    // Norms, row biases and positions on each tensor rank and the tied head's copy: 0.5 % more.
    EXPECT_GT(all, 16.0 * 174'604'259'328);
    EXPECT_LT(all, 1.005 * 16.0 * 174'604'259'328);
}

TEST(ModelStates, ZeroShardsAreRoundedUp) {
    const auto rank = estimated(gpu_plan("gpt2", {"layout.dp=7", "layout.zero_stage=1"})).stages.at(0);
    EXPECT_EQ(bytes_of_term(rank, "master_weights"), 4 * ((124'439'808 + 6) / 7));
}

TEST(ModelStates, ContextParallelRanksShareTheShards) {
    const auto rank = estimated(gpu_plan("llama-7b", {"layout.cp=4", "layout.zero_stage=1"})).stages.at(0);
    EXPECT_EQ(bytes_of_term(rank, "adam_moments"), 8 * 6'738'415'616 / 4);
}

TEST(ModelStates, ExpertsAreShardedOverTheRanksThatHoldThem) {
    const auto plan = gpu_plan("mixtral-8x7b", {"layout.dp=8", "layout.ep=4", "layout.zero_stage=1"});
    const auto counts = count_parameters(plan.model);
    const auto experts = 32 * 8 * counts.expert, dense = counts.total - experts;
    const auto rank = estimated(plan).stages.at(0);
    EXPECT_EQ(bytes_of_term(rank, "parameters"), 2 * (dense + experts / 4));
    EXPECT_EQ(bytes_of_term(rank, "adam_moments"), 8 * ((dense + 7) / 8 + experts / 4 / 2));
}

TEST(ModelStates, TiedHeadIsHeldByBothEnds) {
    const auto stages = estimated(gpu_plan("gpt2", {"layout.pp=2"})).stages;
    EXPECT_EQ(stages.at(0).parameters + stages.at(1).parameters, 124'439'808 + 50257 * 768);
}

TEST(Offload, OptimizerStatesMoveToTheHost) {
    const auto plan = gpu_plan("llama-7b", {"layout.dp=4", "layout.zero_stage=2", "layout.offload_optimizer=cpu"});
    const auto estimate = estimated(plan);
    const auto& rank = estimate.stages.at(0);
    EXPECT_EQ(bytes_of_term(rank, "parameters"), 2 * 6'738'415'616);
    EXPECT_EQ(bytes_of_term(rank, "gradients"), 0);
    EXPECT_EQ(rank.of(Category::Optimizer), 0);
    EXPECT_EQ(estimate.host, (4 + 8 + 4) * 6'738'415'616 / 4);
    EXPECT_EQ(estimated(gpu_plan("llama-7b")).host, 0);
}

TEST(Offload, WholeGradientsOfZero1StayOnTheDevice) {
    const auto plan = gpu_plan("llama-7b", {"layout.dp=4", "layout.zero_stage=1", "layout.offload_optimizer=cpu"});
    EXPECT_EQ(bytes_of_term(estimated(plan).stages.at(0), "gradients"), 2 * 6'738'415'616);
}

TEST(Offload, ParametersMoveToTheHostToo) {
    const auto plan = gpu_plan("llama-7b", {"layout.dp=4", "layout.zero_stage=3", "layout.offload_optimizer=cpu",
                                            "layout.offload_parameters=cpu"});
    const auto estimate = estimated(plan);
    EXPECT_EQ(states(estimate.stages.at(0)), 0);
    EXPECT_EQ(estimate.host, (4 + 8 + 4 + 2) * 6'738'415'616 / 4);
}

TEST(Offload, NvmeLeavesOnlyBuffersOnTheHost) {
    const auto plan = gpu_plan("llama-7b", {"layout.dp=4", "layout.zero_stage=3", "layout.offload_optimizer=nvme",
                                            "layout.offload_parameters=nvme", "layout.nvme_path=/nvme"});
    const auto estimate = estimated(plan);
    EXPECT_EQ(states(estimate.stages.at(0)), 0);
    EXPECT_EQ(estimate.host, 4 * 4 * 131'072'000 / 4 + 5 * 2 * 100'000'000);
}

// DeepSpeed's own estimator: ZeRO-2 with CPU offload leaves 2 B a parameter on the device, on any number of ranks.
TEST(Offload, AgreesWithDeepSpeedsEstimator) {
    std::ifstream file(PLIMSOLL_SOURCE_DIR "/tests/oracles/deepspeed_mem_estimates.json");
    ASSERT_TRUE(file);
    const auto oracles = Json::parse(file);
    int checked = 0;
    for (const auto& oracle : oracles["cases"]) {
        if (oracle["stage"] != 2 || !oracle["cpu_offload"].get<bool>()) continue;
        const auto ranks = oracle["gpus_per_node"].get<int>() * oracle["nodes"].get<int>();
        const auto plan = gpu_plan(
            "llama-7b", {"layout.dp=" + std::to_string(ranks), "layout.zero_stage=2", "layout.offload_optimizer=cpu"});
        const auto per_parameter = oracle["gpu_bytes"].get<std::int64_t>() / oracle["total_params"].get<std::int64_t>();
        EXPECT_EQ(states(estimated(plan).stages.at(0)), per_parameter * 6'738'415'616);
        ++checked;
    }
    EXPECT_GE(checked, 10);
}

}  // namespace
}  // namespace plimsoll
