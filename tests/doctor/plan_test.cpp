// SPDX-License-Identifier: Apache-2.0
// Findings of plans: each with a plan that has it and one that has not.
#include "core/doctor/examine.h"
#include "core/doctor/findings/apply_changes.h"
#include "core/doctor/findings/checklist.h"
#include "core/plan/checks/check_plan.h"
#include "core/plan/presets.h"
#include "core/plan/settings.h"
#include "core/plan/starting_plan.h"
#include "tests/support/doctor_fixture.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

Plan preset(const std::string& name, const std::vector<std::string>& settings = {}) {
    const auto plan = with_settings(plan_from_argument(name)->plan, settings);
    EXPECT_TRUE(plan) << plan.error().message;
    return *plan;
}

struct Case {
    const char* kind;
    const char* item;
    const char* plan;
    std::vector<std::string> sick;  ///< settings with which the finding is there
    std::vector<std::string> well;  ///< with which the line is fine
    const char* words;
};

void PrintTo(const Case& each, std::ostream* out) { *out << each.kind; }

const std::vector<Case>& cases() {
    static const std::vector<Case> all{
        {"does-not-fit", "fits", "llama-7b-4xa100", {"layout.zero_stage=0"}, {}, "are usable"},
        {"fits-narrowly", "fits", "llama-7b-4xa100", {"cluster.usable_gib=38.5"}, {}, "run out of memory"},
        {"fp16-where-bf16-is", "half-precision", "gpt2-1x4090", {"numerics.dtype=fp16"}, {}, "65,504"},
        {"lost-updates",
         "small-updates",
         "llama-7b-4xa100",
         {"numerics.weights=pure", "optimizer.lr=1e-5"},
         {"numerics.weights=pure", "optimizer.lr=1e-5", "numerics.rounding=stochastic"},
         "85 % of the weights lose"},
        {"second-moment-stalls",
         "state-precision",
         "llama-7b-4xa100",
         {"optimizer.state_dtype=bf16", "optimizer.beta2=0.999"},
         {"optimizer.state_dtype=bf16", "optimizer.beta2=0.95"},
         "1 - beta2 = 0.001"},
        {"no-clipping", "clipping", "cpu-demo", {"optimizer.clip=0"}, {}, "one bad batch"},
        {"no-warmup", "warmup", "cpu-demo", {"lr.warmup_steps=0"}, {}, "2 / (1 - beta2) = 40"},
        {"short-warmup", "warmup", "gpt2-1x4090", {"lr.warmup_steps=100", "optimizer.beta2=0.999"}, {}, "= 2000"},
        {"wasted-updates",
         "warmup",
         "gpt2-1x4090",
         {"lr.kind=deepspeed/WarmupLR", "lr.warmup_steps=0"},
         {},
         "counts a warmup of 0 as 2"},
        {"batch-rule",
         "batch-rule",
         "gpt2-1x4090",
         {"lr.batch_rule=linear", "lr.batch_reference=50000"},
         {"lr.batch_rule=sqrt"},
         "times lr.batch_reference"},
        {"beta2",
         "optimizer",
         "llama-7b-4xa100",
         {"optimizer.beta2=0.999"},
         {"layout.accumulation=16"},
         "1000 updates"},
        {"large-batch-adamw", "optimizer", "llama-7b-4xa100", {}, {"layout.accumulation=16"}, "1M tokens"},
        {"lamb-adapts-partly",
         "optimizer",
         "gpt2-1x4090",
         {"optimizer.kind=lamb"},
         {"optimizer.kind=lamb", "optimizer.always_adapt=true"},
         "trust ratio"},
        {"no-weight-decay", "weight-decay", "gpt2-1x4090", {"optimizer.weight_decay=0"}, {}, "20,000 updates"},
        {"strong-weight-decay", "weight-decay", "gpt2-1x4090", {"optimizer.weight_decay=2"}, {}, "of a weight away"},
        {"guard-off", "guard", "cpu-demo", {"guard.detector=off"}, {"guard.clip=true"}, "unseen"},
        {"guard-does-nothing", "guard", "gpt2-1x4090", {}, {"guard.clip=true"}, "no action is on"},
        {"no-checkpoints", "checkpoints", "gpt2-1x4090", {"training.checkpoint_every=0"}, {}, "20000 steps"},
        {"small-micro-batch",
         "micro-batch",
         "gpt2-1x4090",
         {"layout.micro_batch=1", "layout.accumulation=480"},
         {"layout.micro_batch=16", "layout.accumulation=30"},
         "tokens at once"},
        {"needless-recomputation", "recompute-needed", "gpt2-1x4090", {"layout.recompute=full"}, {}, "computes again"},
        {"eager-attention", "attention", "gpt2-1x4090", {"numerics.attention=eager"}, {}, "scores"},
        {"fp32-on-gpu", "tensor-cores", "gpt2-1x4090", {"numerics.dtype=fp32"}, {}, "TFLOP/s"},
        {"large-bubble",
         "bubble",
         "llama-2-70b-64xh100",
         {"layout.tp=8", "layout.pp=8", "layout.dp=1", "layout.zero_stage=0", "layout.accumulation=8",
          "layout.schedule=1f1b"},
         {"layout.tp=8", "layout.pp=8", "layout.dp=1", "layout.zero_stage=0", "layout.accumulation=256",
          "layout.schedule=1f1b"},
         "filling and draining"},
        {"tensor-parallel-across-nodes",
         "nodes",
         "llama-2-70b-64xh100",
         {"layout.tp=16", "layout.pp=1", "layout.dp=4"},
         {"layout.tp=8", "layout.pp=1", "layout.dp=8"},
         "nodes of 8"},
        {"slow-communication",
         "communication",
         "llama-2-70b-64xh100",
         {"layout.tp=16", "layout.pp=1", "layout.dp=4", "cluster.internode_gbs=5"},
         {"layout.tp=4", "layout.pp=4", "layout.dp=4", "layout.zero_stage=1", "layout.accumulation=64"},
         "of a step waits"},
        {"few-buckets",
         "overlap",
         "llama-7b-4xa100",
         {"layout.zero_stage=1", "training.bucket_mib=8192"},
         {},
         "buckets"},
    };
    return all;
}

class PlanFinding : public ::testing::TestWithParam<Case> {};

TEST_P(PlanFinding, IsThereAndGone) {
    const Case& each = GetParam();
    const Plan sick = preset(each.plan, each.sick), well = preset(each.plan, each.well);
    // A plan that does not fit or fits narrowly may have changes; those of narrow fits have to.
    expect_found(sick, examine_plan(sick), each.kind, each.words,
                 std::string_view(each.item) != "nodes" && std::string_view(each.item) != "communication");
    expect_fine(well, examine_plan(well), each.item);
}

INSTANTIATE_TEST_SUITE_P(All, PlanFinding, ::testing::ValuesIn(cases()), [](const auto& each) {
    std::string name = each.param.kind;
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
});

TEST(DoctorOfPlans, EveryPresetIsExaminedWithChangesThatWork) {
    for (const std::string& name : plan_preset_names()) {
        const Plan plan = preset(name);
        const Diagnosis diagnosis = examine_plan(plan);
        expect_sound(plan, diagnosis);
        EXPECT_EQ(diagnosis.checklist.size(), doctor::checklist_lines().size()) << name;
        for (const Finding& finding : diagnosis.findings)
            EXPECT_NE(finding.severity, Severity::Error) << name << ": " << finding.title;
    }
}

TEST(DoctorOfPlans, AnImpossiblePlanHasItsContradictionsAsFindings) {
    Plan plan = preset("cpu-demo");
    plan.layout.dp = 3;
    const Diagnosis diagnosis = examine_plan(plan);
    expect_found(plan, diagnosis, "impossible", "layout", false);
    EXPECT_FALSE(diagnosis.healthy());
    EXPECT_EQ(item_of(diagnosis, "fits").verdict, ItemVerdict::Unknown);
}

TEST(DoctorOfPlans, RunLinesOfAPlanAreNotJudged) {
    const Diagnosis diagnosis = examine_plan(preset("cpu-demo"));
    for (const auto& line : doctor::checklist_lines())
        if (line.of_run) {
            EXPECT_EQ(item_of(diagnosis, std::string(line.id)).verdict, ItemVerdict::Unknown) << line.id;
        }
}

TEST(DoctorOfPlans, FirstChangesTogetherMakeAPossiblePlanThatFits) {
    const Plan plan =
        preset("llama-7b-4xa100", {"layout.zero_stage=0", "optimizer.clip=0", "optimizer.weight_decay=0"});
    const Diagnosis diagnosis = examine_plan(plan);
    ASSERT_NE(finding_of(diagnosis, "does-not-fit"), nullptr);
    const AppliedChanges applied = with_first_changes(plan, diagnosis);
    EXPECT_TRUE(check_plan(applied.plan).empty());
    EXPECT_EQ(applied.plan.optimizer.clip, 1);
    EXPECT_EQ(applied.plan.optimizer.weight_decay, 0.1);
    const Diagnosis after = examine_plan(applied.plan);
    for (const char* gone : {"does-not-fit", "no-clipping", "no-weight-decay"})
        EXPECT_EQ(finding_of(after, gone), nullptr) << gone;
}

TEST(DoctorOfPlans, LeversSayWhatTheyWouldSave) {
    const Diagnosis diagnosis = examine_plan(preset("llama-7b-4xa100", {"layout.zero_stage=0"}));
    EXPECT_THAT(item_of(diagnosis, "zero").words, HasSubstr("ZeRO-3 would save"));
    EXPECT_THAT(item_of(diagnosis, "offload").words, HasSubstr("would save"));
    EXPECT_THAT(item_of(diagnosis, "recomputation").words, HasSubstr("in use: full"));
}

}  // namespace
}  // namespace plimsoll
