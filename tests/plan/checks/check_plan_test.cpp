// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/plan/checks/check_plan.h"
#include "core/plan/plan_io.h"
#include "core/plan/plan_schema.h"
#include "core/plan/presets.h"
#include "core/plan/settings.h"
#include "core/plan/starting_plan.h"
#include "tests/support/random_fields.h"

namespace plimsoll {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

/// The problems of a preset's plan with settings, as "key: sentence" lines.
std::string problems(const std::string& preset, const std::vector<std::string>& settings) {
    const Result<Plan> plan = plan_from_argument(preset).and_then(
        [&](const LoadedPlan& loaded) { return with_settings(loaded.plan, settings); });
    if (!plan) return plan.error().message;
    std::string text;
    for (const Problem& problem : check_plan(*plan)) text += problem.key + ": " + problem.sentence + "\n";
    return text;
}

constexpr auto demo = "cpu-demo";
constexpr auto big = "llama-2-70b-64xh100";  // dp 4, tp 8, pp 2 on 8 x 8 GPUs; 80 layers, 64 heads, 8 kv heads
constexpr auto moe = "mixtral-8x7b-64xh100";

TEST(CheckPlan, ThePresetsAreTheBase) {
    EXPECT_EQ(problems(demo, {}), "");
    EXPECT_EQ(problems(big, {}), "");
    EXPECT_EQ(problems(moe, {}), "");
}

TEST(CheckPlan, TextsAreUtf8) {
    Plan plan = plan_from_argument(demo)->plan;
    plan.data.path = "texts/\xff.txt";
    const auto possible = require_possible(plan);
    ASSERT_FALSE(possible);
    EXPECT_THAT(possible.error().message, StartsWith("data.path is "));
    EXPECT_THAT(possible.error().message, HasSubstr("UTF-8"));
}

TEST(CheckPlan, WeightsWithoutAnFp32CopyHaveToBePossible) {
    EXPECT_EQ(problems(demo, {"numerics.dtype=bf16", "numerics.weights=pure", "numerics.rounding=kahan",
                              "optimizer.state_dtype=bf16"}),
              "");
    EXPECT_EQ(problems(demo, {"numerics.dtype=fp16", "numerics.weights=autocast"}), "");
    EXPECT_THAT(problems(demo, {"numerics.weights=pure"}),
                HasSubstr("numerics.weights pure is for weights below fp32, and numerics.dtype is fp32"));
    EXPECT_THAT(problems(demo, {"numerics.dtype=fp16", "numerics.weights=pure"}), HasSubstr("overflow at 65,504"));
    EXPECT_THAT(problems(demo, {"numerics.dtype=bf16", "numerics.rounding=stochastic"}),
                HasSubstr("for weights without an fp32 copy, and numerics.weights is masters"));
    EXPECT_THAT(problems(big, {"numerics.weights=pure", "layout.zero_stage=1", "layout.offload_optimizer=cpu"}),
                HasSubstr("an offloaded optimizer updates an fp32 copy"));
    EXPECT_THAT(problems(demo, {"optimizer.kind=adamw-8bit", "optimizer.state_dtype=bf16"}),
                HasSubstr("optimizer.kind is adamw-8bit, which keeps 8 bits"));
    EXPECT_THAT(problems(demo, {"optimizer.kind=adafactor", "optimizer.state_dtype=bf16"}),
                HasSubstr("adafactor, whose states are next to nothing"));
}

TEST(CheckPlan, HeadsHaveToDivideHidden) {
    EXPECT_THAT(
        problems(demo, {"model.num_heads=6", "model.num_kv_heads=6"}),
        StartsWith("model.num_heads: model.num_heads 6 does not divide model.hidden_size 128; take 4 or 8 heads, "
                   "or set model.head_dim\n"));
    EXPECT_EQ(problems(demo, {"model.num_heads=6", "model.num_kv_heads=6", "model.head_dim=32"}), "");
}

TEST(CheckPlan, KeyValueHeadsHaveToDivideHeads) {
    EXPECT_EQ(
        problems(demo, {"model.num_kv_heads=3"}),
        "model.num_kv_heads: model.num_kv_heads 3 does not divide model.num_heads 4; take 2 or 4 key and value heads\n");
    EXPECT_EQ(
        problems(demo, {"model.num_kv_heads=8"}),
        "model.num_kv_heads: model.num_kv_heads 8 does not divide model.num_heads 4; take 4 key and value heads\n");
}

TEST(CheckPlan, RotaryHeadsAreEven) {
    EXPECT_THAT(problems(demo, {"model.head_dim=33"}), StartsWith("model.head_dim: rotary positions turn pairs"));
}

TEST(CheckPlan, TensorParallelSlicesWholeHeads) {
    EXPECT_EQ(
        problems(demo, {"layout.tp=8", "layout.dp=1", "cluster.gpus_per_node=8"}),
        "layout.tp: layout.tp 8 is more than the 4 heads of the model, and each rank needs a whole head; take 1, 2 or 4\n");
    EXPECT_EQ(problems(demo, {"layout.tp=3", "layout.dp=1", "cluster.gpus_per_node=3"}),
              "layout.tp: layout.tp 3 does not divide model.num_heads 4; take 1, 2 or 4\n");
    EXPECT_EQ(problems(demo, {"layout.tp=4", "layout.dp=1", "cluster.gpus_per_node=4"}), "")
        << "two ranks share each of the 2 key and value heads";
    EXPECT_EQ(problems(demo, {"model.num_heads=12", "model.num_kv_heads=4", "model.head_dim=32", "layout.tp=6",
                              "layout.dp=1", "cluster.gpus_per_node=6", "model.ffn_hidden_size=384"}),
              "layout.tp: layout.tp 6 and model.num_kv_heads 4 do not divide one another; take 1, 2, 4 or 12\n");
    EXPECT_EQ(problems(demo, {"layout.tp=2", "layout.dp=1", "model.ffn_hidden_size=343"}),
              "layout.tp: layout.tp 2 does not divide model.ffn_hidden_size 343; take 1\n");
    EXPECT_EQ(problems(demo, {"layout.tp=2", "layout.dp=1"}), "");
}

TEST(CheckPlan, TheLayoutFillsTheCluster) {
    EXPECT_EQ(
        problems(demo, {"layout.dp=4"}),
        "layout.dp: the layout takes dp 4 x tp 1 x pp 1 x cp 1 = 4 ranks, but the cluster has 2 x 1 = 2 GPUs; set "
        "layout.dp to 2\n");
    EXPECT_THAT(problems(big, {"layout.pp=5"}),
                HasSubstr("tp x pp x cp = 40 has to divide the number of GPUs (nearest: 32 or 64)"));
}

TEST(CheckPlan, SequenceParallelNeedsTensorParallel) {
    EXPECT_THAT(problems(demo, {"layout.sequence_parallel=true"}), StartsWith("layout.sequence_parallel: "));
    EXPECT_EQ(problems(demo, {"layout.sequence_parallel=true", "layout.tp=2", "layout.dp=1"}), "");
}

TEST(CheckPlan, TheSequenceSplitsEvenly) {
    EXPECT_EQ(
        problems(big, {"data.sequence_length=4090"}),
        "data.sequence_length: data.sequence_length 4090 cannot be split evenly over 8 ranks (layout.cp 1 x layout.tp "
        "8 with sequence_parallel); take 4088 or 4096\n");
    EXPECT_EQ(
        problems(demo, {"layout.cp=2", "layout.dp=1", "data.sequence_length=129"}),
        "data.sequence_length: data.sequence_length 129 cannot be split evenly over 2 ranks (layout.cp 2); take 128 or 130\n");
}

TEST(CheckPlan, LearnedPositionsLimitTheSequence) {
    EXPECT_EQ(
        problems("gpt2", {"data.sequence_length=2048"}),
        "data.sequence_length: data.sequence_length 2048 is longer than the 1024 learned positions of the model; take "
        "1024 or less, or raise model.max_position\n");
    EXPECT_EQ(problems("llama-7b", {"data.sequence_length=4096"}), "");
}

TEST(CheckPlan, StagesHaveLayers) {
    EXPECT_EQ(problems(demo, {"layout.pp=8", "layout.dp=1", "cluster.gpus_per_node=8"}),
              "layout.pp: layout.pp 8 is more stages than the model has layers (4); take 4 or fewer\n");
    EXPECT_EQ(problems(demo, {"layout.pp=3", "layout.dp=1", "cluster.gpus_per_node=3"}), "")
        << "stages may hold different numbers of layers";
}

TEST(CheckPlan, PipelinesRefuseZeroTwoAndThree) {
    for (const char* stage : {"2", "3"}) {
        EXPECT_THAT(problems(big, {std::string("layout.zero_stage=") + stage}),
                    HasSubstr("take stage 1 or set layout.pp to 1"));
    }
}

TEST(CheckPlan, RecomputationPicksWhatIsThere) {
    EXPECT_EQ(problems(big, {"layout.recompute=selective", "layout.recompute_every=2"}),
              "layout.recompute_every: layout.recompute_every 2 picks layers to recompute in full, but "
              "layout.recompute is selective; set it to 1 or layout.recompute to full\n");
    EXPECT_EQ(problems(big, {"layout.recompute=full", "layout.recompute_every=2"}), "");
    EXPECT_THAT(problems(big, {"layout.recompute=none", "layout.recompute_stages=1"}),
                StartsWith("layout.recompute_stages: layout.recompute_stages 1 picks pipeline ranks"));
    EXPECT_EQ(problems(big, {"layout.recompute=full", "layout.recompute_stages=3"}),
              "layout.recompute_stages: layout.recompute_stages 3 is more than the pipeline has (layout.pp 2); take 2 "
              "or fewer, or 0 for all\n");
    EXPECT_EQ(problems(big, {"layout.recompute=full", "layout.recompute_stages=2"}), "");
}

TEST(CheckPlan, TheLossIsCutIntoTokens) {
    EXPECT_EQ(problems(demo, {"layout.loss_chunks=128"}), "");
    EXPECT_EQ(problems(demo, {"layout.loss_chunks=65", "layout.cp=2", "layout.dp=1"}),
              "layout.loss_chunks: layout.loss_chunks 65 is more than the 64 tokens of a sequence on a rank "
              "(data.sequence_length / layout.cp); take 64 or fewer\n");
}

TEST(CheckPlan, AScheduleFileNeedsAPipeline) {
    EXPECT_EQ(
        problems(demo, {"layout.schedule_file=list.json"}),
        "layout.schedule_file: layout.schedule_file lists the operations of a pipeline, but layout.pp is 1; clear "
        "it or raise layout.pp\n");
    EXPECT_EQ(problems(demo, {"layout.schedule_file=list.json", "layout.pp=2", "layout.dp=1"}), "");
}

TEST(CheckPlan, ABalancedSplitHasALimit) {
    EXPECT_EQ(problems(big, {"layout.split=balanced"}), "");
    EXPECT_THAT(problems(demo, {"layout.split=balanced", "model.num_layers=100000", "layout.pp=64", "layout.dp=1",
                                "cluster.gpus_per_node=64"}),
                StartsWith("layout.split: 64 stages x 100,000 layers are too many to balance"));
}

TEST(CheckPlan, GroupsOfTheAllReduceDivideTheRanks) {
    EXPECT_EQ(problems(big, {"training.all_reduce_group=2"}), "");
    EXPECT_EQ(problems(big, {"training.all_reduce_group=3"}),
              "training.all_reduce_group: training.all_reduce_group 3 has to divide the 4 ranks that share gradients "
              "(layout.dp 4 x layout.cp 1); take 2 or 4, or 0 for one flat ring\n");
}

TEST(CheckPlan, RoutingNeedsExperts) {
    EXPECT_EQ(problems(demo, {"model.capacity_factor=1.25"}),
              "model.capacity_factor: model.capacity_factor 1.25 limits the tokens of an expert, but the model has no "
              "experts; set it to 0\n");
    EXPECT_THAT(problems(demo, {"model.router_z_loss=0.001"}), StartsWith("model.router_z_loss: "));
    EXPECT_EQ(problems(moe, {"model.capacity_factor=1.25", "model.router_z_loss=0.001"}), "");
}

TEST(CheckPlan, T5IsNotCutIntoStages) {
    EXPECT_THAT(problems("t5-11b", {"layout.pp=2", "layout.dp=4"}),
                HasSubstr("layout.pp: pipeline stages split decoder-only"));
    EXPECT_THAT(problems("t5-11b", {"layout.cp=2", "layout.dp=4"}), HasSubstr("layout.cp: context parallelism"));
    EXPECT_EQ(problems("t5-11b", {"layout.tp=2", "layout.dp=4"}), "");
}

TEST(CheckPlan, ExpertParallelDividesRanksAndExperts) {
    EXPECT_EQ(problems(moe, {"layout.ep=16"}),
              "layout.ep: layout.ep 16 has to divide both layout.dp 16 and model.num_experts 8; take 8\n");
    EXPECT_EQ(problems(moe, {"layout.ep=3"}),
              "layout.ep: layout.ep 3 has to divide both layout.dp 16 and model.num_experts 8; take 2 or 4\n");
    EXPECT_EQ(problems(big, {"layout.ep=2"}),
              "layout.ep: layout.ep 2 spreads experts, but the model has none; set it to 1\n");
}

TEST(CheckPlan, ATokenGoesThroughExpertsThatExist) {
    EXPECT_THAT(problems(moe, {"model.experts_per_token=9"}),
                StartsWith("model.experts_per_token: model.experts_per_token 9 is more"));
    EXPECT_THAT(problems(moe, {"model.num_experts=0"}), StartsWith("model.num_experts: family mixtral has experts"));
    EXPECT_THAT(problems(demo, {"model.num_experts=8"}), StartsWith("model.num_experts: family llama is dense"));
}

TEST(CheckPlan, AFamilyKeepsItsArchitecture) {
    EXPECT_EQ(problems(demo, {"model.norm=layernorm"}),
              "model.norm: family llama needs model.norm rmsnorm, but it is layernorm; change one of them\n");
    EXPECT_THAT(problems(demo, {"model.position=learned"}), StartsWith("model.position: "));
    EXPECT_THAT(problems(demo, {"model.activation=gelu"}), StartsWith("model.activation: "));
    EXPECT_THAT(problems(demo, {"model.qkv_bias=true"}), StartsWith("model.qkv_bias: "));
    EXPECT_EQ(problems(demo, {"model.qkv_bias=true", "model.linear_bias=true"}), "");
    EXPECT_EQ(problems(demo, {"model.family=qwen2", "model.qkv_bias=true"}), "");
    EXPECT_THAT(problems("gpt2-tiny", {"model.linear_bias=false"}), StartsWith("model.linear_bias: family gpt2 needs"));
    EXPECT_THAT(problems("gpt2-tiny", {"model.num_kv_heads=2"}), StartsWith("model.num_kv_heads: family gpt2"));
    EXPECT_THAT(problems("gpt2-tiny", {"model.head_dim=16"}), StartsWith("model.head_dim: family gpt2"));
    EXPECT_THAT(problems("gpt2-tiny", {"model.activation=swiglu"}), StartsWith("model.activation: family gpt2"));
    EXPECT_EQ(problems("gpt2-tiny", {"model.activation=relu"}), "");
    EXPECT_THAT(problems("t5-11b", {"model.activation=swiglu"}), StartsWith("model.activation: family t5"));
    EXPECT_EQ(problems("t5-11b", {"model.activation=geglu", "model.tied_head=false"}), "");
}

TEST(CheckPlan, OffloadNeedsZeroAGpuAndAPlace) {
    EXPECT_THAT(problems(demo, {"layout.zero_stage=1", "layout.offload_optimizer=cpu"}),
                StartsWith("layout.offload_optimizer: offload moves"));
    EXPECT_THAT(problems(demo, {"layout.zero_stage=3", "layout.offload_parameters=cpu"}),
                StartsWith("layout.offload_parameters: offload moves"));
    EXPECT_EQ(problems(demo, {"layout.zero_stage=1", "layout.offload_optimizer=nvme", "layout.nvme_path=/nvme"}), "");
    EXPECT_THAT(problems(demo, {"layout.zero_stage=1", "layout.offload_optimizer=nvme"}),
                StartsWith("layout.nvme_path: "));
    EXPECT_THAT(problems(demo, {"layout.offload_optimizer=nvme", "layout.nvme_path=/nvme"}),
                StartsWith("layout.offload_optimizer: layout.offload_optimizer needs ZeRO"));
    EXPECT_THAT(problems("gpt2", {"layout.offload_optimizer=cpu"}),
                StartsWith("layout.offload_optimizer: layout.offload_optimizer needs ZeRO"));
    EXPECT_EQ(problems("gpt2", {"layout.offload_optimizer=cpu", "layout.zero_stage=1"}), "");
    EXPECT_EQ(
        problems("llama-7b", {"layout.offload_parameters=cpu"}),
        "layout.offload_parameters: layout.offload_parameters needs ZeRO stage 3, layout.zero_stage is 2; set it to 3 "
        "or keep the parameters on the GPU\n");
    const std::vector<std::string> nvme{"layout.zero_stage=3", "layout.offload_optimizer=nvme"};
    EXPECT_THAT(problems("llama-7b", nvme), StartsWith("layout.nvme_path: "));
    EXPECT_EQ(problems("llama-7b", {nvme[0], nvme[1], "layout.nvme_path=/nvme"}), "");
    EXPECT_THAT(problems("llama-7b", {nvme[1], "layout.nvme_path=/nvme"}),
                StartsWith("layout.offload_optimizer: optimizer states can be on NVMe only"));
}

TEST(CheckPlan, ActivationsAreOffloadedFromAGpu) {
    EXPECT_THAT(problems(demo, {"layout.offload_activations=true"}), StartsWith("layout.offload_activations: "));
    EXPECT_EQ(problems("gpt2", {"layout.offload_activations=true", "layout.compress_activations=true"}), "");
}

TEST(CheckPlan, OldGpusTrainInFp16) {
    for (const char* gpu : {"T4", "V100 SXM2 32GB"}) {
        const std::string set_gpu = std::string("cluster.gpu=") + gpu;
        EXPECT_EQ(problems("gpt2", {set_gpu}),
                  fmt::format("numerics.dtype: the {} has no bf16 units; set numerics.dtype to fp16\n", gpu));
        EXPECT_EQ(problems("gpt2", {set_gpu, "numerics.dtype=fp16"}), "");
    }
}

TEST(CheckPlan, TheGpuIsKnownAndHoldsWhatIsClaimed) {
    EXPECT_THAT(problems("gpt2", {"cluster.gpu=H1000"}),
                StartsWith("cluster.gpu: cluster.gpu: the GPU catalogue has no \"H1000\""));
    EXPECT_THAT(problems("gpt2", {"cluster.usable_gib=90"}),
                StartsWith("cluster.usable_gib: cluster.usable_gib is 90, but the A100 SXM4 80GB has 80 GB"));
    EXPECT_EQ(problems("gpt2", {"cluster.usable_gib=70"}), "");
    EXPECT_THAT(problems(big, {"cluster.internode_gbs=0"}), StartsWith("cluster.internode_gbs: 8 nodes need a link"));
}

TEST(CheckPlan, LossScalesAreForFp16) {
    EXPECT_THAT(problems(demo, {"numerics.loss_scale=1024"}),
                StartsWith("numerics.loss_scale: numerics.loss_scale 1024 is for fp16"));
    EXPECT_EQ(problems(demo, {"numerics.loss_scale=1024", "numerics.dtype=fp16"}), "");
    EXPECT_THAT(problems(demo, {"numerics.dtype=fp16", "numerics.initial_scale_power=4", "numerics.min_loss_scale=32"}),
                StartsWith("numerics.min_loss_scale: the loss scale starts at 2^4 = 16"));
}

TEST(CheckPlan, WarmupFitsTheRun) {
    EXPECT_EQ(problems(demo, {"training.steps=19"}),
              "lr.warmup_steps: lr.warmup_steps 20 is longer than the run (training.steps 19); take 19 or fewer\n");
    EXPECT_EQ(problems(demo, {"training.steps=20"}), "");
}

TEST(CheckPlan, Fp16AndBf16DoNotGoTogether) {
    EXPECT_EQ(problems(demo, {"numerics.dtype=fp16", "numerics.reduce_dtype=bf16"}),
              "numerics.reduce_dtype: fp16 and bf16 do not go together: gradients of numerics.dtype fp16 cannot travel "
              "in bf16; set numerics.reduce_dtype to gradient or fp32\n");
    EXPECT_EQ(problems(demo, {"numerics.dtype=fp16", "numerics.reduce_dtype=fp32"}), "");
}

TEST(CheckPlan, LossScaleRulesAreOfTheirPolicy) {
    const char* fault = "numerics.loss_scale_growth_fault=true";
    EXPECT_EQ(problems(demo, {"numerics.dtype=fp16", fault}), "");
    EXPECT_THAT(problems(demo, {"numerics.dtype=fp16", "numerics.loss_scale_policy=pytorch", fault}),
                StartsWith("numerics.loss_scale_growth_fault: numerics.loss_scale_growth_fault is DeepSpeed's, and "
                           "numerics.loss_scale_policy is pytorch; switch it off"));
    EXPECT_EQ(problems(demo, {"numerics.dtype=fp16", "numerics.loss_scale_policy=pytorch",
                              "numerics.initial_scale_power=4", "numerics.min_loss_scale=32"}),
              "")
        << "PyTorch's scale has no minimum";
}

TEST(CheckPlan, WarmupAndLastPartFitTheRun) {
    EXPECT_EQ(problems(demo, {"lr.kind=wsd", "lr.warmup_fraction=0.5", "lr.decay_fraction=0.6", "training.steps=100"}),
              "lr.decay_fraction: the warmup of 50 steps and the last part of 60 are longer than the run "
              "(training.steps 100); shorten lr.decay_fraction or the warmup\n");
    EXPECT_EQ(problems(demo, {"lr.kind=cosine", "lr.decay_fraction=1"}), "") << "it has no last part";
    EXPECT_THAT(problems(demo, {"lr.kind=linear", "lr.tail=true", "lr.decay_fraction=0"}),
                StartsWith("lr.decay_fraction: lr.kind linear with lr.tail needs a last part"));
    EXPECT_EQ(problems(demo, {"lr.kind=guide", "lr.decay_steps=280"}), "");
    EXPECT_THAT(problems(demo, {"lr.kind=guide", "lr.decay_steps=281"}),
                StartsWith("lr.decay_steps: the warmup of 20"));
    EXPECT_EQ(problems(demo, {"training.steps=10", "lr.kind=range-test"}), "") << "it has no warmup";
}

TEST(CheckPlan, CurvesAreThoseOfTheirLibrary) {
    EXPECT_THAT(problems(demo, {"lr.kind=deepspeed/WarmupLR", "lr.warmup_shape=cosine"}),
                StartsWith("lr.warmup_shape: deepspeed/WarmupLR warms up linear or log, not cosine"));
    EXPECT_EQ(problems(demo, {"lr.kind=deepspeed/WarmupLR", "lr.warmup_shape=log"}), "");
    EXPECT_THAT(problems(demo, {"lr.kind=transformers/warmup_stable_decay", "lr.decay_shape=log"}),
                StartsWith("lr.decay_shape: transformers/warmup_stable_decay has no log decay"));
    EXPECT_THAT(problems(demo, {"lr.kind=cosine-restarts", "lr.cycle_factor=1.001"}),
                StartsWith("lr.cycle_factor: lr.cycle_factor 1.001 hardly lengthens a cycle"));
}

TEST(CheckPlan, DataIsNamed) {
    EXPECT_THAT(problems(demo, {"data.path="}), StartsWith("data.path: data.path is empty"));
}

TEST(CheckPlan, ValuesSetInCodeAreHeldToTheSameRanges) {
    Plan plan;
    plan.layout.micro_batch = 0;
    plan.optimizer.lr = std::nan("");
    plan.model.num_heads = -4;
    const std::vector<Problem> found = check_plan(plan);
    ASSERT_EQ(found.size(), 3U);
    EXPECT_EQ(found[0].sentence, "model.num_heads is -4; allowed: 1 to 1,000,000");
    EXPECT_EQ(found[1].sentence, "layout.micro_batch is 0; allowed: 1 to 1,000,000,000");
    EXPECT_EQ(found[2].key, "optimizer.lr");
    EXPECT_EQ(require_possible(plan).error().message, found[0].sentence);
    EXPECT_EQ(require_possible(plan).error().kind, Error::Kind::BadInput);
}

TEST(CheckPlan, SizesThatWouldOverflowAreRefused) {
    EXPECT_THAT(problems(demo, {"model.hidden_size=1000000000", "model.ffn_hidden_size=1000000000"}),
                HasSubstr("parameters; at most 1000 T"));
    EXPECT_THAT(problems(demo, {"layout.dp=1048576", "layout.tp=1048576", "layout.pp=1048576", "layout.cp=1048576"}),
                HasSubstr("ranks; at most 1,048,576"));
    EXPECT_THAT(problems(demo, {"layout.micro_batch=1000000000", "layout.accumulation=1000000000"}),
                HasSubstr("a step would take"));
    EXPECT_THAT(problems("gpt2", {"layout.micro_batch=1000000000", "layout.accumulation=1"}),
                HasSubstr("the activations would be"));
    // Only eager attention holds the scores of every pair of tokens.
    EXPECT_THAT(problems(demo, {"data.sequence_length=100000000", "numerics.attention=eager"}),
                HasSubstr("the activations would be"));
    EXPECT_EQ(problems(demo, {"data.sequence_length=100000000", "numerics.attention=flash"}), "");
    EXPECT_THAT(problems(big, {"layout.accumulation=10000000"}), HasSubstr("too many for a timeline"));
}

TEST(CheckPlan, RandomPlansNeverOverflowTheCheck) {
    // The sanitizer builds turn an overflow into a failure; here each random plan gets an answer.
    int possible = 0;
    for (std::uint64_t seed = 0; seed < 2000; ++seed) {
        Randomizer random(seed);
        Plan plan;
        visit_fields(random, plan);
        for (const Problem& problem : check_plan(plan)) {
            EXPECT_FALSE(problem.key.empty());
            EXPECT_GT(problem.sentence.size(), 20U);
        }
        possible += check_plan(plan).empty() ? 1 : 0;
    }
    EXPECT_LT(possible, 20);
}

TEST(CheckPlan, EveryProblemNamesAFieldOfThePlan) {
    std::vector<std::string> keys;
    for (const FieldInfo& field : plan_fields()) keys.push_back(field.key);
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        Randomizer random(seed);
        Plan plan;
        visit_fields(random, plan.model);
        for (const Problem& problem : check_plan(plan)) EXPECT_THAT(keys, testing::Contains(problem.key));
    }
}

}  // namespace
}  // namespace plimsoll
