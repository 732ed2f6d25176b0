// SPDX-License-Identifier: Apache-2.0
#include "core/interop/exports/export_target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <toml++/toml.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <set>

#include "core/base/json.h"
#include "core/interop/exports/export_parts.h"
#include "tests/support/random_plans.h"

namespace plimsoll {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Plan base() {
    Plan plan;
    plan.name = "My plan 1";
    plan.model = *model_preset("llama-3-8b");
    plan.cluster.gpu = "H100 SXM";
    plan.cluster.gpus_per_node = 8;
    plan.cluster.nodes = 2;
    plan.layout.dp = 16;
    plan.layout.micro_batch = 2;
    plan.layout.accumulation = 4;
    plan.layout.zero_stage = 3;
    plan.layout.recompute = Recompute::Full;
    plan.numerics.dtype = Dtype::Bf16;
    plan.optimizer.lr = 6e-5;
    plan.optimizer.clip = 0.7;
    plan.data.sequence_length = 4096;
    plan.training.steps = 500;
    return plan;
}

ExportedText exported(const Plan& plan, std::string_view target) {
    auto text = export_plan(plan, target);
    EXPECT_TRUE(text) << target << ": " << text.error().message;
    return text.value_or(ExportedText{});
}

TEST(ExportTargetTest, EveryTargetWritesEveryRandomPlanOrSaysWhyNot) {
    RandomPlans plans(3);
    EXPECT_EQ(export_targets().size(), 17U);
    int written = 0;
    for (int i = 0; i < 60; ++i) {
        const Plan plan = plans.next();
        for (const ExportTarget& target : export_targets()) {
            const auto text = export_plan(plan, target.name);
            if (!text) {
                // tool_rules_test.cpp: what the tool itself would refuse.
                EXPECT_THAT(text.error().message, AnyOf(HasSubstr("torchtitan"), HasSubstr("Megatron-LM"),
                                                        HasSubstr("Accelerate"), HasSubstr("Axolotl")))
                    << target.name;
                EXPECT_EQ(exit_code(text.error()), 2);
                continue;
            }
            EXPECT_TRUE(text->text.ends_with("\n")) << target.name;
            for (const std::string& note : text->notes)
                EXPECT_TRUE(note.ends_with(".") || note.ends_with(".)")) << target.name << ": " << note;
            ++written;
        }
    }
    EXPECT_GT(written, 800);
}

bool says(const ExportedText& exported, std::string_view word) {
    return std::any_of(exported.notes.begin(), exported.notes.end(),
                       [&](const std::string& note) { return note.find(word) != std::string::npos; });
}

TEST(ExportTargetTest, WhatKeepsModelsStableIsInTheFileOrSaidToBeLeftOut) {
    Plan plan = base();
    plan.model.norm_placement = NormPlacement::Sandwich;
    plan.model.qk_norm = true;
    plan.model.init = Init::Plain;
    plan.model.mup_base_width = 256;
    plan.model.z_loss = 1e-4;
    plan.model.embedding_gradient = 0.1;
    plan.optimizer.clip_rule = ClipRule::AdaGc;
    plan.training.noise_scale_every = 5;
    plan.guard.rollback = true;
    const std::vector<std::string_view> fields{"model.norm_placement sandwich",
                                               "model.qk_norm",
                                               "model.init plain",
                                               "model.mup_base_width",
                                               "model.z_loss",
                                               "model.embedding_gradient",
                                               "optimizer.clip_rule",
                                               "training.noise_scale_every",
                                               "guard.sigma"};
    for (const ExportTarget& target : export_targets()) {
        const ExportedText text = exported(plan, target.name);
        if (says(text, "nothing else of the plan")) continue;  // launchers
        for (const std::string_view field : fields) {
            const bool in_file = (field == "model.qk_norm" && text.text.find("--qk-layernorm") != std::string::npos);
            EXPECT_TRUE(in_file || says(text, field)) << target.name << " is silent on " << field;
        }
        // A plan without them is not told of them.
        const ExportedText plain = exported(base(), target.name);
        for (const std::string_view field : fields) EXPECT_FALSE(says(plain, field)) << target.name << ": " << field;
    }
    EXPECT_THAT(exported(plan, "megatron").text,
                AllOf(HasSubstr("--qk-layernorm"), HasSubstr("--use-mup"), HasSubstr("--mup-base-hidden-size 256"),
                      HasSubstr("--mup-attn-scale-power 0.5")));
    EXPECT_THAT(exported(base(), "megatron").text, AllOf(Not(HasSubstr("qk-layernorm")), Not(HasSubstr("-mup"))));
}

TEST(ExportTargetTest, UnknownTargetsAndImpossiblePlansAreErrors) {
    EXPECT_THAT(export_plan(base(), "acelerate").error().message, HasSubstr("did you mean \"accelerate\"?"));
    Plan plan = base();
    plan.layout.dp = 3;
    for (const ExportTarget& target : export_targets()) EXPECT_FALSE(export_plan(plan, target.name)) << target.name;
}

TEST(ExportTargetTest, AccelerateWithDeepSpeed) {
    const YAML::Node yaml = YAML::Load(exported(base(), "accelerate").text);
    EXPECT_EQ(yaml["distributed_type"].as<std::string>(), "DEEPSPEED");
    EXPECT_EQ(yaml["num_processes"].as<int>(), 16);
    EXPECT_EQ(yaml["num_machines"].as<int>(), 2);
    EXPECT_EQ(yaml["mixed_precision"].as<std::string>(), "bf16");
    const YAML::Node zero = yaml["deepspeed_config"];
    EXPECT_EQ(zero["zero_stage"].as<int>(), 3);
    EXPECT_EQ(zero["gradient_accumulation_steps"].as<int>(), 4);
    EXPECT_EQ(zero["gradient_clipping"].as<double>(), 0.7);
    EXPECT_TRUE(zero["zero3_save_16bit_model"].as<bool>());
    EXPECT_FALSE(zero["deepspeed_config_file"]) << "no other DeepSpeed key may stand beside a file";
}

TEST(ExportTargetTest, AccelerateWithFsdp) {
    Plan plan = base();
    YAML::Node yaml = YAML::Load(exported(plan, "accelerate-fsdp").text);
    EXPECT_EQ(yaml["distributed_type"].as<std::string>(), "FSDP");
    EXPECT_TRUE(yaml["fsdp_config"]["fsdp_reshard_after_forward"].as<bool>());
    EXPECT_TRUE(yaml["fsdp_config"]["fsdp_activation_checkpointing"].as<bool>());
    EXPECT_EQ(yaml["fsdp_config"]["fsdp_transformer_layer_cls_to_wrap"].as<std::string>(), "LlamaDecoderLayer");
    plan.layout.zero_stage = 2;
    yaml = YAML::Load(exported(plan, "accelerate-fsdp").text);
    EXPECT_FALSE(yaml["fsdp_config"]["fsdp_reshard_after_forward"].as<bool>());
    plan.layout.zero_stage = 1;
    EXPECT_THAT(exported(plan, "accelerate-fsdp").notes, Contains(HasSubstr("FSDP has no ZeRO-1")));
    plan.layout.zero_stage = 0;
    EXPECT_THAT(exported(plan, "accelerate-fsdp").text, HasSubstr("distributed_type: MULTI_GPU"));
}

TEST(ExportTargetTest, TrainingArgumentsSayTheRecipe) {
    Plan plan = base();
    const Json json = Json::parse(exported(plan, "transformers").text);
    EXPECT_EQ(json.at("per_device_train_batch_size"), 2);
    EXPECT_EQ(json.at("gradient_accumulation_steps"), 4);
    EXPECT_EQ(json.at("learning_rate"), 6e-5);
    EXPECT_EQ(json.at("max_grad_norm"), 0.7);
    EXPECT_EQ(json.at("max_steps"), 500);
    EXPECT_EQ(json.at("lr_scheduler_type"), "cosine_with_min_lr");
    EXPECT_EQ(json.at("lr_scheduler_kwargs").at("min_lr_rate"), 0.1);
    EXPECT_EQ(json.at("bf16"), true);
    EXPECT_EQ(json.at("gradient_checkpointing"), true);
    plan.lr.kind = LrKind::Linear;
    EXPECT_EQ(Json::parse(exported(plan, "transformers").text).at("lr_scheduler_type"), "polynomial");
    plan.optimizer.kind = OptimizerKind::Lamb;
    EXPECT_THAT(exported(plan, "transformers").notes, Contains(HasSubstr("transformers has no LAMB")));
}

TEST(ExportTargetTest, WeightsWithoutMastersAreSaidOrNoted) {
    Plan plan = base();
    plan.numerics.weights = WeightCopies::Pure;
    plan.optimizer.state_dtype = Dtype::Bf16;
    plan.model.preset = "llama-3-8b";
    EXPECT_THAT(exported(plan, "torchtitan").text, HasSubstr("dtype = 'bfloat16'"));
    EXPECT_THAT(exported(plan, "torchtitan-0.3").text, HasSubstr("--training.dtype bfloat16"));
    EXPECT_THAT(exported(plan, "llama-factory").text, AllOf(HasSubstr("pure_bf16: true"), HasSubstr("\nbf16: false")));
    EXPECT_THAT(exported(plan, "accelerate-fsdp").text, HasSubstr("mixed_precision: \"no\""));
    EXPECT_THAT(exported(plan, "transformers").notes, Contains(HasSubstr("dtype=torch.bfloat16")));
    EXPECT_THAT(exported(plan, "megatron").notes, Contains(HasSubstr("numerics.weights pure is not in")));
    EXPECT_THAT(exported(plan, "accelerate").notes, Contains(HasSubstr("numerics.weights pure is not in")));

    plan.numerics.rounding = Rounding::Kahan;
    const Json kahan = Json::parse(exported(plan, "transformers").text);
    EXPECT_EQ(kahan.at("optim"), "adamw_anyprecision");
    EXPECT_EQ(kahan.at("optim_args"), "use_kahan_summation=True,momentum_dtype=bfloat16,variance_dtype=bfloat16");
    EXPECT_THAT(exported(plan, "torchtitan").notes, Contains(HasSubstr("numerics.rounding kahan is not in")));
    plan.numerics.rounding = Rounding::Stochastic;
    EXPECT_THAT(exported(plan, "transformers").notes, Contains(HasSubstr("numerics.rounding stochastic is not in")));
    plan.optimizer.kind = OptimizerKind::AdamW8bit;
    plan.optimizer.state_dtype = Dtype::Fp32;
    const Json random = Json::parse(exported(plan, "transformers").text);
    EXPECT_EQ(random.at("optim"), "adamw_torch_8bit");
    EXPECT_EQ(random.at("optim_args"), "bf16_stochastic_round=True");
    EXPECT_THAT(exported(plan, "transformers").notes, Not(Contains(HasSubstr("numerics.rounding"))));
}

TEST(ExportTargetTest, AutocastAndMomentsInBf16AreSaidOrNoted) {
    Plan plan = base();
    plan.numerics.weights = WeightCopies::Autocast;
    EXPECT_THAT(exported(plan, "transformers").notes, Contains(HasSubstr("dtype=torch.float32")));
    EXPECT_THAT(exported(plan, "megatron").notes, Contains(HasSubstr("numerics.weights autocast is not in")));
    EXPECT_THAT(exported(plan, "axolotl").notes, Contains(HasSubstr("Axolotl loads the weights in bf16")));
    plan.numerics.weights = WeightCopies::Masters;
    plan.layout.zero_stage = 0;
    EXPECT_THAT(exported(plan, "transformers").notes, Contains(HasSubstr("numerics.weights masters is not in")));
    plan.layout.zero_stage = 1;
    plan.optimizer.state_dtype = Dtype::Bf16;
    EXPECT_THAT(exported(plan, "megatron").text,
                AllOf(HasSubstr("--use-precision-aware-optimizer"), HasSubstr("--exp-avg-dtype bf16"),
                      HasSubstr("--exp-avg-sq-dtype bf16")));
    EXPECT_THAT(exported(plan, "transformers").notes, Contains(HasSubstr("optimizer.state_dtype bf16 is not in")));
}

TEST(ExportTargetTest, MegatronSaysModelLayoutAndRecipe) {
    Plan plan = base();
    plan.layout.dp = 2;
    plan.layout.tp = 4;
    plan.layout.pp = 2;
    plan.layout.sequence_parallel = true;
    plan.layout.zero_stage = 1;
    const ExportedText text = exported(plan, "megatron");
    for (const char* part :
         {"--num-layers 32", "--num-query-groups 8", "--ffn-hidden-size 14336", "--tensor-model-parallel-size 4",
          "--pipeline-model-parallel-size 2", "--sequence-parallel", "--use-distributed-optimizer",
          "--recompute-granularity full", "--micro-batch-size 2", "--global-batch-size 16", "--lr 6e-05",
          "--clip-grad 0.7", "--bf16", "--swiglu", "--lr-decay-style cosine", "--min-lr 6e-06", "--rotary-base 500000",
          "torchrun --nnodes=2 --nproc-per-node=8"}) {
        EXPECT_THAT(text.text, HasSubstr(part));
    }
    plan.layout.schedule = Schedule::GPipe;
    EXPECT_THAT(exported(plan, "megatron").notes, Contains(HasSubstr("layout.schedule gpipe")));
}

// What validate_args() of Megatron-LM asserts beyond the names of the options.
TEST(ExportTargetTest, MegatronsOwnRulesAreKept) {
    Plan plan = base();
    EXPECT_THAT(exported(plan, "megatron").text, HasSubstr("--ckpt-format fsdp_dtensor"));
    plan.layout.dp = 8;
    plan.layout.tp = 2;
    // Megatron-FSDP refuses CUDA_DEVICE_MAX_CONNECTIONS=1, which tensor parallelism needs elsewhere.
    EXPECT_THAT(exported(plan, "env").text, Not(HasSubstr("CUDA_DEVICE_MAX_CONNECTIONS")));
    EXPECT_TRUE(says(exported(plan, "megatron"), "Leave CUDA_DEVICE_MAX_CONNECTIONS unset"));
    plan.layout.zero_stage = 1;
    plan.layout.offload_optimizer = Offload::Cpu;
    EXPECT_THAT(exported(plan, "env").text, HasSubstr("CUDA_DEVICE_MAX_CONNECTIONS=1"));
    EXPECT_THAT(exported(plan, "megatron").text, StartsWith("CUDA_DEVICE_MAX_CONNECTIONS=1 torchrun "));
    EXPECT_THAT(exported(plan, "megatron").text,
                AllOf(HasSubstr("--optimizer-cpu-offload"), HasSubstr("--use-precision-aware-optimizer"),
                      HasSubstr("--use-distributed-optimizer"), Not(HasSubstr("--ckpt-format"))));
    plan.layout.tp = 1;
    plan.layout.cp = 2;
    EXPECT_THAT(exported(plan, "env").text, HasSubstr("CUDA_DEVICE_MAX_CONNECTIONS=1"));
    plan.data.sequence_length = 4098;
    EXPECT_THAT(export_plan(plan, "megatron").error().message, HasSubstr("no multiple of 4"));
}

TEST(ExportTargetTest, TorchtitanSaysTheSameInTomlAndOnTheCommandLine) {
    const toml::table toml = toml::parse(exported(base(), "torchtitan").text);
    EXPECT_EQ(toml["model"]["flavor"].value<std::string>(), "8B");
    EXPECT_EQ(toml["training"]["local_batch_size"].value<std::int64_t>(), 2);
    EXPECT_EQ(toml["training"]["global_batch_size"].value<std::int64_t>(), 128);
    EXPECT_EQ(toml["optimizer"]["lr"].value<double>(), 6e-5);
    EXPECT_EQ(toml["parallelism"]["data_parallel_shard_degree"].value<std::int64_t>(), 16);
    EXPECT_EQ(toml["parallelism"]["fsdp_reshard_after_forward"].value<std::string>(), "always");
    EXPECT_EQ(toml["activation_checkpoint"]["mode"].value<std::string>(), "full");
    const ExportedText line = exported(base(), "torchtitan-0.3");
    EXPECT_THAT(line.text,
                AllOf(HasSubstr("--config llama3_8b"), HasSubstr("--training.global_batch_size 128"),
                      HasSubstr("--parallelism.data_parallel_shard_degree 16"),
                      HasSubstr("--training.no-disable_cuda_graphs"), HasSubstr("activation_checkpoint:full\n")));
    EXPECT_THAT(line.notes, Contains(HasSubstr("lr 6e-05, betas (0.9, 0.95)")));
    Plan plan = base();
    plan.layout.dp = 4;
    plan.layout.tp = 2;
    plan.layout.pp = 2;
    plan.layout.zero_stage = 1;
    // torchtitan 0.3 refuses pipelines with CUDA graphs, which are its default.
    EXPECT_THAT(exported(plan, "torchtitan-0.3").text, AllOf(HasSubstr("--training.disable_cuda_graphs"),
                                                             HasSubstr("--parallelism.no-enable_sequence_parallel")));
    EXPECT_THAT(exported(plan, "torchtitan").notes, Contains(HasSubstr("torchtitan 0.2 splits norms")));
    plan.numerics.dtype = Dtype::Fp16;
    EXPECT_FALSE(export_plan(plan, "torchtitan"));
}

TEST(ExportTargetTest, FinetuningToolsReadNumbersAsNumbers) {
    for (const char* target : {"llama-factory", "axolotl"}) {
        const std::string text = exported(base(), target).text;
        // PyYAML takes 6e-05 for a word.
        EXPECT_THAT(text, HasSubstr("learning_rate: 6.0e-05")) << target;
        EXPECT_TRUE(YAML::Load(text).IsMap());
    }
    EXPECT_THAT(exported(base(), "llama-factory").text,
                AllOf(HasSubstr("disable_gradient_checkpointing: false"), Not(HasSubstr("\ngradient_checkpointing:"))));
    EXPECT_THAT(exported(base(), "axolotl").text,
                AllOf(HasSubstr("micro_batch_size: 2"), HasSubstr("attn_implementation: flash_attention_2")));
    Plan plan = base();
    plan.layout.dp = 8;
    plan.layout.tp = 2;
    EXPECT_THAT(exported(plan, "axolotl").text, HasSubstr("tensor_parallel_size: 2"));
    EXPECT_FALSE(says(exported(plan, "axolotl"), "layout.tp"));
    EXPECT_TRUE(says(exported(plan, "llama-factory"), "layout.tp"));
}

TEST(ExportTargetTest, LaunchersStartEveryRank) {
    EXPECT_THAT(exported(base(), "torchrun").text,
                AllOf(HasSubstr("--nnodes=2"), HasSubstr("--nproc-per-node=8"), HasSubstr("--rdzv-backend=c10d")));
    EXPECT_THAT(exported(base(), "deepspeed-launcher").text, HasSubstr("--num_nodes 2"));
    EXPECT_THAT(exported(base(), "mpirun").text, AllOf(HasSubstr("-np 16"), HasSubstr("ppr:8:node")));
    EXPECT_THAT(exported(base(), "srun").text, HasSubstr("--ntasks-per-node=8"));
    EXPECT_THAT(exported(base(), "sbatch").text,
                AllOf(HasSubstr("#SBATCH --nodes=2"), HasSubstr("--job-name=my-plan-1")));
    EXPECT_THAT(exported(base(), "env").text, HasSubstr("TORCH_NCCL_ASYNC_ERROR_HANDLING=1"));
}

TEST(ExportTargetTest, KubernetesAsksForEveryGpu) {
    const YAML::Node job = YAML::Load(exported(base(), "pytorchjob").text);
    EXPECT_EQ(job["kind"].as<std::string>(), "PyTorchJob");
    EXPECT_EQ(job["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"].as<int>(), 1);
    EXPECT_EQ(job["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["containers"][0]["resources"]["limits"]
                 ["nvidia.com/gpu"]
                     .as<int>(),
              8);
    const YAML::Node set = YAML::Load(exported(base(), "jobset").text);
    EXPECT_EQ(set["spec"]["replicatedJobs"][0]["template"]["spec"]["parallelism"].as<int>(), 2);
}

TEST(ExportTargetTest, WordsThatYamlTakesForSomethingElseAreQuoted) {
    const Json json{{"a", "no"},    {"b", "1e3"},        {"c", "x: y"},       {"d", 6e-5},
                    {"e", nullptr}, {"f", "line\nline"}, {"g", Json::array()}};
    const std::string text = exports::to_yaml(json);
    EXPECT_THAT(text,
                AllOf(HasSubstr("a: \"no\""), HasSubstr("b: \"1e3\""), HasSubstr("d: 6.0e-05"), HasSubstr("e: null")));
    const YAML::Node read = YAML::Load(text);
    EXPECT_EQ(read["c"].as<std::string>(), "x: y");
    EXPECT_EQ(read["f"].as<std::string>(), "line\nline");
}

TEST(ExportTargetTest, NamesOfPeopleDoNotReachTheShell) {
    Plan plan = base();
    plan.name = "x'; rm -rf / #\n$(id)";
    for (const char* target : {"torchrun", "sbatch", "megatron", "jobset"}) {
        EXPECT_THAT(exported(plan, target).text, Not(HasSubstr("rm -rf"))) << target;
    }
    EXPECT_EQ(exports::shell_word("it's"), "'it'\\''s'");
    EXPECT_EQ(exports::shell_word(""), "''");
    EXPECT_EQ(exports::shell_word("a=b"), "a=b");
}

}  // namespace
}  // namespace plimsoll
