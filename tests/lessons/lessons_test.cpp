// SPDX-License-Identifier: Apache-2.0
// The lessons' arithmetic against numbers worked out by hand, and what they conclude.
#include "core/base/json.h"
#include "core/lessons/lesson.h"

#include <gmock/gmock.h>

#include <set>

#include "core/estimate/estimate.h"
#include "core/estimate/estimate_json.h"
#include "core/plan/checks/check_plan.h"
#include "core/plan/plan_io.h"

namespace plimsoll {
namespace {

using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::HasSubstr;

Lesson lesson(const std::string& name) {
    auto made = make_lesson(name);
    EXPECT_TRUE(made) << made.error().message;
    return made ? std::move(*made) : Lesson{};
}

double value(const Lesson& of, std::string_view step) {
    const LessonStep* found = of.find(step);
    EXPECT_NE(found, nullptr) << of.name << " has no " << step;
    return found ? found->value : -1;
}

/// Parameters as transformers counts them.
constexpr double llama_7b = 6'738'415'616, llama_13b = 13'015'864'320, llama_65b = 65'285'660'672;

TEST(Lessons, EachHasAllItsPartsAndAPlanThatIsPossible) {
    std::set<std::string> titles;
    for (const auto& name : lesson_names()) {
        const Lesson each = lesson(name);
        EXPECT_EQ(each.name, name);
        EXPECT_TRUE(titles.insert(each.title).second) << each.title;
        EXPECT_FALSE(each.question.empty()) << name;
        EXPECT_GE(each.steps.size(), 3U) << name;
        EXPECT_FALSE(each.right.empty()) << name;
        EXPECT_FALSE(each.wrong.empty()) << name;
        EXPECT_TRUE(check_plan(each.plan).empty()) << name;
        EXPECT_TRUE(estimate_memory(each.plan)) << name;
        for (const LessonTable& table : each.tables) {
            EXPECT_FALSE(table.rows.empty()) << name;
            for (const auto& row : table.rows) EXPECT_EQ(row.size(), table.headers.size()) << name;
        }
        for (const LessonStep& step : each.steps) EXPECT_FALSE(step.result().empty()) << step.name;
        const Json json = to_json(each);
        EXPECT_EQ(json["steps"].size(), each.steps.size());
        EXPECT_TRUE(plan_from_json(json["plan"], "lesson"));
    }
}

TEST(Lessons, AWrongNameIsRefusedWithTheNearest) {
    const auto none = make_lesson("zero-56b");
    ASSERT_FALSE(none);
    EXPECT_THAT(none.error().message, HasSubstr("zero-65b"));
}

TEST(Lessons, TheSevenBillionSumMixesItsUnits) {
    const Lesson l = lesson("llama-7b");
    EXPECT_EQ(value(l, "rule_states"), 56e9);
    EXPECT_EQ(value(l, "rule_activations"), 171'798'691'840.0);  // 160 x 2^30
    EXPECT_EQ(value(l, "rule_activations_gib"), 160e9);
    EXPECT_EQ(value(l, "rule_sum"), 56e9 + 171'798'691'840.0);
    EXPECT_EQ(value(l, "parameters"), llama_7b);
    EXPECT_EQ(value(l, "states"), 16 * llama_7b);
    EXPECT_GT(value(l, "rank"), 85e9);
    EXPECT_LT(value(l, "rank_fits"), 85e9);
    EXPECT_EQ(l.find("rule_states")->result(), "56.0 GB");
}

TEST(Lessons, WeightsAreTwoBytesAndTrainingSixteen) {
    const Lesson l = lesson("gpt3-weights");
    EXPECT_EQ(value(l, "quoted"), 350e9);
    EXPECT_NEAR(value(l, "parameters"), 175e9, 0.01 * 175e9);
    EXPECT_EQ(value(l, "weights"), 2 * value(l, "parameters"));
    EXPECT_EQ(value(l, "states"), 16 * value(l, "parameters"));
    // 2.79 TB over 79.15 GiB, rounded up.
    EXPECT_EQ(value(l, "cards"), 33);
}

TEST(Lessons, AdamBringsFourGbAndTheRestAsMuchAgain) {
    const Lesson l = lesson("adam-states");
    EXPECT_EQ(value(l, "moments_per_gb"), 4);
    EXPECT_EQ(value(l, "all_per_gb"), 8);
    EXPECT_EQ(value(l, "weights"), 2 * 1'557'611'200.0);
    // (2 + 2 + 4 + 2) / 2 and the blocks' scales.
    EXPECT_NEAR(value(l, "eight_bit"), 5, 0.05);
}

TEST(Lessons, FortyEightGbUnderZero2CannotBe) {
    const Lesson l = lesson("zero-65b");
    EXPECT_EQ(value(l, "parameters"), llama_65b);
    EXPECT_GT(value(l, "rank_dp"), 16 * llama_65b);
    EXPECT_EQ(value(l, "weights_zero2"), 2 * llama_65b);
    EXPECT_EQ(value(l, "weights_zero3"), 2 * llama_65b / 8);
    EXPECT_NEAR(value(l, "states_zero3"), 16 * llama_65b / 8, 100);
    // (2 + 14 / 8) B a parameter and more.
    EXPECT_GT(value(l, "rank_zero2"), 3.75 * llama_65b);
    EXPECT_GE(value(l, "least_zero2"), 2 * llama_65b);
    EXPECT_NEAR(value(l, "nearest_zero3"), 22e9, 0.15 * 22e9);
    EXPECT_THAT(l.wrong, Contains(HasSubstr("48 GB under ZeRO-2 cannot be")));
    EXPECT_THAT(l.plan.layout.offload_optimizer, AnyOf(Offload::Cpu, Offload::Nvme));
    EXPECT_EQ(l.plan.layout.zero_stage, 3);
}

TEST(Lessons, ThirteenBillionNeedNoOffloadOnFourCards) {
    const Lesson l = lesson("offload-13b");
    EXPECT_EQ(value(l, "parameters"), llama_13b);
    EXPECT_NEAR(value(l, "states_shard"), 4 * llama_13b, 100);
    EXPECT_LT(value(l, "rank_none"), 85e9);
    EXPECT_LT(value(l, "rank_all"), value(l, "rank_optimizer"));
    EXPECT_LT(value(l, "rank_optimizer"), value(l, "rank_none"));
    // Masters, moments and fp32 gradients: 16 B a parameter over the node; with the parameters 18.
    EXPECT_NEAR(value(l, "host_optimizer"), 16 * llama_13b, 0.02 * 16 * llama_13b);
    EXPECT_NEAR(value(l, "host_all"), 18 * llama_13b, 0.02 * 18 * llama_13b);
    EXPECT_GE(value(l, "largest_batch"), 8);
}

TEST(Lessons, CheckpointingEachLayerSavesMoreAndSomeLayersLess) {
    const Lesson l = lesson("checkpointing");
    // A LLaMA layer keeps e s b (4 h + 2 q + 2 k + 4 f) + 4 a s b and norms; full recomputation its input, e s b h.
    const double s = 2048, h = 4096, f = 11008, a = 32;
    const double layer = 2 * s * (8 * h + 4 * f) + 4 * a * s, input = 2 * s * h;
    EXPECT_NEAR(value(l, "none"), 32 * layer, 0.03 * 32 * layer);
    EXPECT_NEAR(value(l, "every_1"), 1 - input / layer, 0.02);
    EXPECT_NEAR(value(l, "every_2"), value(l, "every_1") / 2, 0.01);
    EXPECT_LT(value(l, "every_2"), 0.68);
    EXPECT_NEAR(value(l, "square_root"), 0.6464, 1e-4);
}

TEST(Lessons, ThePrecisionTableIsThatOfTheFormats) {
    const Lesson l = lesson("precision");
    EXPECT_FLOAT_EQ(static_cast<float>(value(l, "fp32_largest")), std::numeric_limits<float>::max());
    EXPECT_FLOAT_EQ(static_cast<float>(value(l, "fp32_epsilon")), std::numeric_limits<float>::epsilon());
    EXPECT_EQ(value(l, "fp16_largest"), 65504);
    EXPECT_EQ(value(l, "fp16_epsilon"), 0.0009765625);
    EXPECT_NEAR(value(l, "bf16_largest"), 3.3895314e38, 1e31);
    EXPECT_EQ(value(l, "bf16_epsilon"), 0.0078125);
    EXPECT_EQ(value(l, "states_fp32"), 16 * llama_7b);
    EXPECT_EQ(value(l, "states_bf16"), 16 * llama_7b);
    EXPECT_EQ(value(l, "states_pure"), 8 * llama_7b);
    ASSERT_EQ(l.tables.size(), 1U);
    EXPECT_EQ(l.tables[0].rows.size(), 4U);
}

TEST(Lessons, TheGpuTableIsOfTheWholeCatalogue) {
    const Lesson l = lesson("gpu-selection");
    EXPECT_GT(value(l, "7b_one"), 16 * llama_7b);  // over the card's 85 GB
    EXPECT_LT(value(l, "7b_8bit"), 85e9);
    EXPECT_LT(value(l, "13b_four"), 85e9);
    ASSERT_EQ(l.tables.size(), 2U);
    EXPECT_GE(l.tables[1].rows.size(), 37U);
    const auto row = [&](const std::string& card) {
        for (const auto& each : l.tables[1].rows)
            if (each[0] == card) return each;
        return std::vector<std::string>(6);
    };
    EXPECT_EQ(row("A100 SXM4 80GB")[2], "gpt2-xl");
    EXPECT_EQ(row("A100 SXM4 80GB")[4], "llama-33b");
    EXPECT_THAT(l.wrong, Contains(HasSubstr("up to 7B on one A100 80GB")));
}

TEST(Lessons, FlashAttentionsSavingGrowsWithTheLength) {
    const Lesson l = lesson("flash-attention");
    EXPECT_EQ(value(l, "scores"), 2.0 * 32 * 2048 * 2048);
    double before = 0;
    for (const char* tokens : {"256", "512", "1024", "2048", "4096", "8192"}) {
        const double saved = value(l, std::string("saved_") + tokens);
        EXPECT_GT(saved, before) << tokens;
        before = saved;
    }
    EXPECT_LT(value(l, "saved_512"), 0.20);
    EXPECT_GT(value(l, "saved_4096"), 0.20);
    EXPECT_GT(value(l, "closest"), 512);
    EXPECT_LT(value(l, "closest"), 4096);
    EXPECT_LT(value(l, "saved_recomputed"), 0.05);
}

}  // namespace
}  // namespace plimsoll
