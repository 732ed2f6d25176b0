// SPDX-License-Identifier: Apache-2.0
#include "core/interop/deepspeed/facts/deepspeed_release.h"
#include "core/base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "core/interop/deepspeed/deepspeed_export.h"
#include "core/plan/presets.h"

namespace plimsoll {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

Plan everything() {
    Plan plan;
    plan.model = *model_preset("mixtral-8x7b");
    plan.cluster.gpu = "H100 SXM";
    plan.cluster.gpus_per_node = 8;
    plan.layout.dp = 8;
    plan.layout.ep = 8;
    plan.layout.zero_stage = 3;
    plan.layout.recompute = Recompute::Full;
    plan.layout.offload_optimizer = Offload::Nvme;
    plan.layout.offload_parameters = Offload::Nvme;
    plan.layout.nvme_path = "/mnt/nvme";
    plan.numerics.dtype = Dtype::Bf16;
    return plan;
}

void add_keys(const Json& json, const std::string& prefix, std::set<std::string>& keys) {
    for (const auto& [key, value] : json.items()) {
        keys.insert(prefix + key);
        if (value.is_object()) add_keys(value, prefix + key + ".", keys);
    }
}

std::set<std::string> keys_for(Plan plan, const std::string& release) {
    plan.exports.deepspeed_release = release;
    const auto exported = export_deepspeed(plan);
    EXPECT_TRUE(exported) << exported.error().message;
    std::set<std::string> keys;
    if (exported) add_keys(exported->json, "", keys);
    return keys;
}

TEST(DeepSpeedRelease, KnownReleasesAreExportedFor) {
    const std::vector<std::string> releases = deepspeed_releases();
    EXPECT_EQ(releases.front(), "0.19.8");
    EXPECT_EQ(releases.back(), "0.14.4");
    EXPECT_THAT(releases, AllOf(Contains("0.16.9"), Contains("0.17.1"), Contains("0.18.9")));
    for (const std::string& release : releases) {
        const auto known = deepspeed_release(release);
        ASSERT_TRUE(known) << release;
        EXPECT_EQ(known->text(), release);
    }
}

TEST(DeepSpeedRelease, UnknownReleaseNamesTheKnownOnes) {
    for (const std::string release :
         {"0.19.9", "0.14.3", "0.20.0", "1.0.0", "", "0.19", "0.19.08", "0.19.8 ", "latest"}) {
        Plan plan = everything();
        plan.exports.deepspeed_release = release;
        const auto exported = export_deepspeed(plan);
        ASSERT_FALSE(exported) << release;
        EXPECT_EQ(exported.error().kind, Error::Kind::BadInput);
        EXPECT_THAT(exported.error().message, AllOf(HasSubstr("export.deepspeed_release"),
                                                    HasSubstr("\"" + release + "\""), HasSubstr("0.19.0 to 0.19.8")));
    }
}

TEST(DeepSpeedRelease, OlderOnesAreKnownToLint) {
    for (const char* release : {"0.9.0", "0.10.3", "0.12.6", "0.14.3", "0.19.8"})
        EXPECT_TRUE(known_deepspeed_release(release)) << release;
    for (const char* release : {"0.8.3", "0.9.6", "0.19.9"}) {
        ASSERT_FALSE(known_deepspeed_release(release)) << release;
        EXPECT_THAT(known_deepspeed_release(release).error().message,
                    AllOf(HasSubstr("0.9.0 to 0.9.5"), HasSubstr("0.19.0 to 0.19.8")));
    }
}

TEST(DeepSpeedRelease, OverflowCheckOfBf16IsWrittenWhereItIsKnown) {
    EXPECT_FALSE(keys_for(everything(), "0.17.0").contains("bf16.check_grad_overflow"));
    EXPECT_TRUE(keys_for(everything(), "0.17.1").contains("bf16.check_grad_overflow"));
}

// schema.json and schema_versions.json: every default that moved and acts on training is written, in every release.
TEST(DeepSpeedRelease, ValuesWhoseDefaultsMovedAreWrittenOut) {
    for (const std::string& release : deepspeed_releases()) {
        const std::set<std::string> keys = keys_for(everything(), release);
        for (const char* key : {"gradient_clipping", "zero_optimization.offload_optimizer.pin_memory",
                                "zero_optimization.offload_param.pin_memory", "bf16.immediate_grad_update",
                                "scheduler.params.warmup_type", "train_batch_size", "train_micro_batch_size_per_gpu",
                                "gradient_accumulation_steps"}) {
            EXPECT_TRUE(keys.contains(key)) << key << " for " << release;
        }
        Plan constant = everything();
        constant.lr.kind = LrKind::Constant;
        EXPECT_TRUE(keys_for(constant, release).contains("scheduler.params.warmup_max_lr")) << release;
    }
}

// In 0.16.4 to 0.19.3, engine._configure_tensor_parallel_states asserts a stage of 2 at most.
TEST(DeepSpeedRelease, TensorParallelIsWrittenWhereTheReleaseCanDoIt) {
    Plan plan = everything();
    plan.model = *model_preset("llama-7b");
    plan.layout = {};
    plan.layout.dp = 4;
    plan.layout.tp = 2;
    plan.layout.zero_stage = 2;
    EXPECT_FALSE(keys_for(plan, "0.16.3").contains("tensor_parallel.autotp_size"));
    EXPECT_TRUE(keys_for(plan, "0.16.4").contains("tensor_parallel.autotp_size"));
    plan.layout.zero_stage = 3;
    EXPECT_FALSE(keys_for(plan, "0.19.3").contains("tensor_parallel.autotp_size"));
    EXPECT_TRUE(keys_for(plan, "0.19.4").contains("tensor_parallel.autotp_size"));
}

TEST(DeepSpeedRelease, ExpertParallelIsWrittenWhereTheReleaseCanDoIt) {
    EXPECT_FALSE(keys_for(everything(), "0.19.2").contains("expert_parallel.autoep_size"));
    EXPECT_TRUE(keys_for(everything(), "0.19.3").contains("expert_parallel.autoep_size"));
}

// schema_versions.json: the keys that each release added, from schemas generated out of four releases.
TEST(DeepSpeedRelease, NoReleaseGetsAKeyThatCameAfterIt) {
    const auto versions = read_json(PLIMSOLL_SOURCE_DIR "/tests/oracles/deepspeed/schema_versions.json");
    ASSERT_TRUE(versions) << versions.error().message;
    // Read key by key before 0.17.1 (runtime/config.py, get_dynamic_loss_scale_args), so the generated schema lacks
    // them.
    const std::set<std::string> always{"fp16.consecutive_hysteresis", "fp16.hysteresis", "fp16.loss_scale_window",
                                       "fp16.min_loss_scale"};
    std::vector<Plan> plans(2, everything());
    plans[1].numerics.dtype = Dtype::Fp16;
    plans[1].layout.ep = 1;
    int compared = 0;
    for (const Json& step : versions->at("steps")) {
        for (const Plan& plan : plans) {
            const std::set<std::string> before = keys_for(plan, step.at("from"));
            const std::set<std::string> after = keys_for(plan, step.at("to"));
            for (const std::string key : step.at("added")) {
                EXPECT_TRUE(!before.contains(key) || always.contains(key)) << key << " in " << step.at("from");
                ++compared;
            }
            for (const std::string key : step.at("removed")) {
                EXPECT_FALSE(after.contains(key)) << key << " in " << step.at("to");
                ++compared;
            }
        }
    }
    EXPECT_GT(compared, 200);
}

}  // namespace
}  // namespace plimsoll
