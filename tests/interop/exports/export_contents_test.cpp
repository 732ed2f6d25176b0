// SPDX-License-Identifier: Apache-2.0
// What exports hold beside the layout: weights, data, checkpoints, programs, the verdict of the memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/json.h"
#include "core/frameworks/error_model.h"
#include "core/frameworks/estimate_under.h"
#include "core/interop/exports/export_target.h"
#include "core/interop/exports/fit_note.h"
#include "core/interop/exports/megatron_parts.h"
#include "core/plan/presets.h"

namespace plimsoll {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Plan base() {
    Plan plan;
    plan.name = "My plan";
    plan.model = *model_preset("llama-7b");
    plan.cluster.gpu = "H100 SXM";
    plan.cluster.gpus_per_node = 8;
    plan.layout.dp = 8;
    plan.layout.zero_stage = 3;
    plan.layout.micro_batch = 1;
    plan.layout.accumulation = 4;
    plan.layout.recompute = Recompute::Full;
    plan.numerics.dtype = Dtype::Bf16;
    plan.data.sequence_length = 2048;
    plan.training.steps = 500;
    return plan;
}

ExportedText exported(const Plan& plan, std::string_view target, std::string_view program = "") {
    auto text = export_plan(plan, target, program);
    EXPECT_TRUE(text) << target << ": " << text.error().message;
    return text.value_or(ExportedText{});
}

std::string refusal(const Plan& plan, std::string_view target, std::string_view program = "") {
    const auto text = export_plan(plan, target, program);
    EXPECT_FALSE(text) << target;
    return text ? "" : text.error().message;
}

TEST(ExportContentsTest, WeightsToStartFromAreInTheFileOrSaidToBeLeftOut) {
    Plan plan = base();
    plan.model.weights = "models/my folder";
    for (const ExportTarget& target : export_targets()) {
        const ExportedText text = exported(plan, target.name);
        const bool launcher = std::any_of(text.notes.begin(), text.notes.end(), [](const std::string& note) {
            return note.find("nothing else of the plan") != std::string::npos;
        });
        if (launcher) continue;
        EXPECT_TRUE(text.text.find("models/my folder") != std::string::npos ||
                    std::any_of(text.notes.begin(), text.notes.end(),
                                [](const std::string& note) { return note.find("my folder") != std::string::npos; }))
            << target.name;
        EXPECT_THAT(exported(base(), target.name).notes, Not(Contains(HasSubstr("model.weights  ")))) << target.name;
    }
    EXPECT_THAT(exported(plan, "transformers").notes,
                Contains(HasSubstr("AutoModelForCausalLM.from_pretrained(\"models/my folder\")")));
    EXPECT_THAT(exported(plan, "torchtitan").text,
                AllOf(HasSubstr("initial_load_path = 'models/my folder'"), HasSubstr("initial_load_in_hf = true"),
                      HasSubstr("hf_assets_path = 'models/my folder'")));
    EXPECT_THAT(exported(plan, "torchtitan-0.3").text,
                AllOf(HasSubstr("--checkpoint.initial_load_path 'models/my folder'"),
                      HasSubstr("--checkpoint.initial_load_in_hf"), HasSubstr("--hf_assets_path 'models/my folder'")));
    const ExportedText megatron = exported(plan, "megatron");
    EXPECT_THAT(megatron.text, AllOf(HasSubstr("--pretrained-checkpoint out/my-plan/pretrained"),
                                     HasSubstr("--tokenizer-type HuggingFaceTokenizer"),
                                     HasSubstr("--tokenizer-model 'models/my folder'"),
                                     HasSubstr("--padded-vocab-size 32000"), Not(HasSubstr("NullTokenizer"))));
    EXPECT_THAT(megatron.notes, Not(Contains(HasSubstr("NullTokenizer"))));
    EXPECT_THAT(megatron.notes, Contains(HasSubstr("AutoBridge.import_ckpt(\"models/my folder\"")));
}

TEST(ExportContentsTest, MegatronSavesLoadsValidatesAndLogs) {
    Plan plan = base();
    plan.training.checkpoint_every = 50;
    plan.training.validate_every = 20;
    plan.data.validation_fraction = 0.05;
    EXPECT_THAT(exported(plan, "megatron").text,
                AllOf(HasSubstr("--save out/my-plan/checkpoints"), HasSubstr("--save-interval 50"),
                      HasSubstr("--load out/my-plan/checkpoints"), HasSubstr("--eval-interval 20"),
                      HasSubstr("--eval-iters 10"), HasSubstr("--split 95,5,0"),
                      HasSubstr("--tensorboard-dir out/my-plan/tensorboard"), Not(HasSubstr("--pretrained"))));
    plan.training.checkpoint_every = 0;
    plan.training.validate_every = 0;
    EXPECT_THAT(exported(plan, "megatron").text, AllOf(HasSubstr("--save-interval 500"), HasSubstr("--eval-iters 0"),
                                                       Not(HasSubstr("--eval-interval"))));
    EXPECT_THAT(exported(plan, "torchtitan").text, AllOf(HasSubstr("interval = 500"), HasSubstr("enable = true")));
}

TEST(ExportContentsTest, MegatronTakesDataInItsOwnForm) {
    Plan plan = base();
    EXPECT_THAT(exported(plan, "megatron").text, AllOf(HasSubstr("--mock-data"), Not(HasSubstr("--data-path"))));
    plan.data.path = "/data/my texts.txt";
    const ExportedText text = exported(plan, "megatron");
    EXPECT_THAT(text.text, AllOf(HasSubstr("--data-path 'my texts_text_document'"), Not(HasSubstr("--mock-data"))));
    EXPECT_THAT(text.notes, Contains(AllOf(HasSubstr("preprocess_data.py"), HasSubstr("/data/my texts.txt"))));
    plan.data.path = "/data/corpus_text_document.bin";
    EXPECT_THAT(exported(plan, "megatron").text, HasSubstr("--data-path /data/corpus_text_document"));
    EXPECT_THAT(exported(plan, "megatron").notes, Not(Contains(HasSubstr("preprocess_data.py"))));
}

TEST(ExportContentsTest, LayersThatDoNotDivideAreNamedStageByStage) {
    Plan plan = base();
    plan.layout.dp = 2;
    plan.layout.pp = 4;
    plan.layout.zero_stage = 1;
    EXPECT_THAT(exported(plan, "megatron").text, Not(HasSubstr("--pipeline-model-parallel-layout")));
    plan.model.num_layers = 31;
    EXPECT_THAT(exported(plan, "megatron").text, HasSubstr("--pipeline-model-parallel-layout 'Et*8|t*8|t*8|t*7L'"));
    plan.layout.schedule = Schedule::Interleaved;
    plan.layout.chunks = 2;
    EXPECT_THAT(exported(plan, "megatron").text,
                AllOf(HasSubstr("'Et*4|t*4|t*4|t*4|t*4|t*4|t*4|t*3L'"), Not(HasSubstr("--num-virtual-stages"))));
    plan.layout.accumulation = 7;  // 7 = 5 + 2 is no group and a rest of at least 4: all seven go together
    EXPECT_THAT(exported(plan, "megatron").text, HasSubstr("--microbatch-group-size-per-virtual-pipeline-stage 7"));
    EXPECT_EQ(exports::megatron_lm::micro_batch_group(12, 4), 4);
    EXPECT_EQ(exports::megatron_lm::micro_batch_group(9, 4), 5);  // 5 and 4
    plan.layout.accumulation = 3;
    EXPECT_THAT(refusal(plan, "megatron"), HasSubstr("layout.accumulation 3 is fewer than layout.pp 4"));
    EXPECT_EQ(exports::megatron_lm::stage_words({2, 0, 3}), "Et*2||t*3L");
}

TEST(ExportContentsTest, TorchtitanIsNotGivenAnotherModel) {
    Plan plan = base();
    for (const char* target : {"torchtitan", "torchtitan-0.3"}) {
        plan.model = *model_preset("qwen2.5-7b");
        EXPECT_THAT(refusal(plan, target), HasSubstr("no biases, and model.qkv_bias is true"));
        plan.model = *model_preset("gpt2");
        plan.data.sequence_length = 1024;
        EXPECT_THAT(refusal(plan, target), HasSubstr("family gpt2"));
        plan.model = *model_preset("mixtral-8x7b");
        EXPECT_THAT(refusal(plan, target), HasSubstr("no experts"));
    }
    plan.model = *model_preset("llama-7b");
    const auto flavor = Contains(AllOf(HasSubstr("TransformerModelArgs(dim=4096"), HasSubstr("multiple_of=11008"),
                                       HasSubstr("norm_eps=1e-06"), HasSubstr("rope_theta=10000"),
                                       HasSubstr("RoPEScalingArgs(scaling_factor=1.0)")));
    EXPECT_THAT(exported(plan, "torchtitan").notes, flavor);
    EXPECT_THAT(exported(plan, "torchtitan-0.3").notes, Contains(HasSubstr("hidden_dim=11008")));
    // The flavor is the model's, not its preset's.
    plan.model = *model_preset("llama-3-8b");
    EXPECT_THAT(exported(plan, "torchtitan").text, HasSubstr("flavor = '8B'"));
    plan.model.num_layers = 30;
    EXPECT_THAT(exported(plan, "torchtitan").text, HasSubstr("flavor = 'my-plan'"));
    plan.layout.dp = 1;
    plan.layout.tp = 8;
    plan.model.num_kv_heads = 4;
    EXPECT_THAT(refusal(plan, "torchtitan"), HasSubstr("layout.tp 8 does not divide model.num_kv_heads 4"));
}

TEST(ExportContentsTest, LaunchersStartTheExportedTool) {
    Plan plan = base();
    plan.layout.dp = 4;
    plan.layout.tp = 2;
    plan.layout.zero_stage = 1;
    const std::string megatron = exported(plan, "megatron").text;
    const std::string script = megatron.substr(megatron.find("pretrain_gpt.py"));
    EXPECT_THAT(exported(plan, "torchrun", "megatron").text,
                AllOf(StartsWith("CUDA_DEVICE_MAX_CONNECTIONS=1 torchrun"), EndsWith(script)));
    EXPECT_THAT(exported(plan, "sbatch", "megatron").text,
                AllOf(HasSubstr("export CUDA_DEVICE_MAX_CONNECTIONS=1\n"), EndsWith(script)));
    EXPECT_THAT(exported(plan, "srun", "megatron").text, HasSubstr("python \\\n  pretrain_gpt.py"));
    EXPECT_THAT(exported(plan, "sbatch", "torchtitan").text,
                HasSubstr("-m torchtitan.train --job.config_file torchtitan.toml\n"));
    EXPECT_THAT(exported(plan, "torchrun", "torchtitan-0.3").text,
                HasSubstr("-m torchtitan.train \\\n  --module llama3"));
    EXPECT_THAT(exported(plan, "torchrun", "axolotl").text, EndsWith("-m axolotl.cli.train axolotl.yaml\n"));
    EXPECT_THAT(
        exported(plan, "jobset", "megatron").text,
        AllOf(HasSubstr("export CUDA_DEVICE_MAX_CONNECTIONS=1; torchrun"), HasSubstr("pretrain_gpt.py --num-layers")));
    EXPECT_THAT(exported(plan, "torchrun").text, EndsWith("train.py\n"));
    EXPECT_THAT(refusal(plan, "torchrun", "megatorn"), HasSubstr("did you mean \"megatron\"?"));
    EXPECT_THAT(refusal(plan, "env", "megatron"), HasSubstr("is no launcher"));
    plan.numerics.dtype = Dtype::Fp16;
    EXPECT_THAT(refusal(plan, "sbatch", "torchtitan"), HasSubstr("torchtitan has no fp16"));
}

TEST(ExportContentsTest, AnExportTellsWhereItsOwnToolRunsOutOfMemory) {
    Plan plan = base();
    plan.layout.recompute = Recompute::Selective;
    plan.model = *model_preset("llama-3-70b");
    const auto memory = estimate_under(Framework::Megatron, plan);
    ASSERT_TRUE(memory);
    ASSERT_FALSE(memory->fits());
    EXPECT_THAT(exported(plan, "megatron").notes.front(),
                AllOf(StartsWith("The plan does not fit under Megatron-LM"),
                      HasSubstr(format_bytes(memory->fullest().total())), HasSubstr("--framework megatron")));
    EXPECT_THAT(exported(plan, "torchrun", "megatron").notes.front(), StartsWith("The plan does not fit"));
    EXPECT_THAT(exported(plan, "torchrun").notes, Not(Contains(HasSubstr("does not fit"))));
    // On a GPU that is just large enough the chance is told; with room to spare nothing is.
    const Bytes peak = memory->fullest().total();
    plan.cluster.usable_gib = 0;
    plan.model = *model_preset("llama-7b");
    const auto small = estimate_under(Framework::Megatron, plan);
    plan.cluster.usable_gib = static_cast<double>(small->fullest().total()) / static_cast<double>(GiB) * 1.01;
    const auto note = exports::fit_note(plan, Framework::Megatron);
    ASSERT_TRUE(note);
    EXPECT_THAT(*note, AllOf(StartsWith("Memory is tight under Megatron-LM"), HasSubstr("OOM risk ")));
    EXPECT_LT(small->fullest().total(), peak);
    plan.cluster.usable_gib = 0;
    EXPECT_FALSE(exports::fit_note(plan, Framework::Megatron)) << *exports::fit_note(plan, Framework::Megatron);
    plan.cluster.gpu = "cpu";
    EXPECT_FALSE(exports::fit_note(plan, Framework::DeepSpeed));
}

TEST(ExportContentsTest, TheStackOfATargetIsTheProgramThatTrainsIt) {
    Plan plan = base();
    EXPECT_EQ(exports::framework_of(plan, "transformers"), Framework::DeepSpeed) << "ds.json shards";
    EXPECT_EQ(exports::framework_of(plan, "accelerate-fsdp"), Framework::TorchTitan);
    plan.layout.zero_stage = 0;
    EXPECT_EQ(exports::framework_of(plan, "transformers"), Framework::HfTrainer);
    EXPECT_EQ(exports::framework_of(plan, "megatron"), Framework::Megatron);
    for (const char* target : {"torchrun", "sbatch", "env", "pytorchjob"})
        EXPECT_FALSE(exports::framework_of(plan, target)) << target;
}

TEST(ExportContentsTest, AttentionIsInTheFileOfToolsThatMakeTheModel) {
    Plan plan = base();
    EXPECT_THAT(exported(plan, "transformers").notes, Contains(HasSubstr("numerics.attention is not in")));
    for (const char* target : {"llama-factory", "axolotl"})
        EXPECT_THAT(exported(plan, target).notes, Not(Contains(HasSubstr("numerics.attention")))) << target;
    EXPECT_THAT(exported(plan, "llama-factory").text, HasSubstr("flash_attn: fa2"));
    // FlashAttention-2 has no fp32.
    plan.numerics.dtype = Dtype::Fp32;
    EXPECT_THAT(exported(plan, "llama-factory").text, HasSubstr("flash_attn: sdpa"));
    EXPECT_THAT(exported(plan, "axolotl").text, HasSubstr("attn_implementation: sdpa"));
    plan.layout.dp = 4;
    plan.layout.cp = 2;
    EXPECT_THAT(refusal(plan, "axolotl"), HasSubstr("layout.cp to 1, it is 2"));
}

TEST(ExportContentsTest, NumbersAreWithoutNoise) {
    Plan plan = base();
    plan.optimizer.lr = 3e-4;
    plan.lr.min_ratio = 0.1;
    ASSERT_NE(plan.optimizer.lr * plan.lr.min_ratio, 3e-5);
    EXPECT_THAT(exported(plan, "megatron").text, HasSubstr("--min-lr 3e-05 "));
    plan.lr.kind = LrKind::Linear;
    for (const ExportTarget& target : export_targets())
        EXPECT_THAT(exported(plan, target.name).text, Not(HasSubstr("99999"))) << target.name;
    EXPECT_EQ(Json::parse(exported(plan, "transformers").text).at("lr_scheduler_kwargs").at("lr_end"), 3e-5);
}

}  // namespace
}  // namespace plimsoll
