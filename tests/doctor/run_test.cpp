// SPDX-License-Identifier: Apache-2.0
// Findings of runs, from records that are made up: each with a run that has it and one that has not.
#include <cmath>

#include "core/base/json.h"
#include "core/doctor/examine.h"
#include "core/doctor/plan_checks/tensor_of_size.h"
#include "core/plan/settings.h"
#include "core/plan/starting_plan.h"
#include "core/schedule/plan_pipeline/plan_pipeline.h"
#include "core/schedule/stage_times.h"
#include "core/telemetry/contract/run_layout.h"
#include "core/validation/bubble_rates.h"
#include "tests/support/doctor_fixture.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

class DoctorOfRuns : public ::testing::Test {
protected:
    Finding found(const std::string& kind) {
        const Diagnosis diagnosis = run.examined();
        expect_sound(run.plan, diagnosis);
        const Finding* finding = finding_of(diagnosis, kind);
        EXPECT_NE(finding, nullptr) << kind << " is not among " << kinds_of(diagnosis);
        return finding == nullptr ? Finding{} : *finding;
    }
    void add_event(EventKind kind, std::uint64_t step, Json details, const std::string& sentence = "A sentence.") {
        run.events.push_back({step, 1000.0 + static_cast<double>(step), kind, sentence, std::move(details)});
    }
    void in_fp16() {
        run.plan.numerics.dtype = Dtype::Fp16;
        run.value[series::loss_scale] = [](double) { return 65536.0; };
    }

    TempFolder folder;
    MadeUpRun run{folder / "run"};
};

TEST_F(DoctorOfRuns, AGoodRunIsFine) {
    const Diagnosis diagnosis = run.examined();
    expect_sound(run.plan, diagnosis);
    EXPECT_TRUE(diagnosis.healthy()) << kinds_of(diagnosis);
    for (const char* item :
         {"out-of-memory",    "nonfinite",   "bad-data",   "overflow", "loss-scale",    "initial-loss", "dead-layers",
          "exploding-layers", "lr-too-high", "lr-too-low", "spikes",   "clipped-steps", "overfit",      "throughput",
          "beside-steps",     "ended",       "rollbacks",  "data",     "straggler",     "communication"})
        expect_fine(run.plan, diagnosis, item);
}

TEST_F(DoctorOfRuns, WhatIsNotRecordedIsNotJudged) {
    run.value.erase(series::data_time);
    run.value.erase(series::wait_time);
    const Diagnosis diagnosis = run.examined();
    EXPECT_EQ(item_of(diagnosis, "data").verdict, ItemVerdict::Unknown);
    EXPECT_EQ(item_of(diagnosis, "straggler").verdict, ItemVerdict::Unknown);
}

TEST_F(DoctorOfRuns, ARankThatWaitsLeastIsTheOneThatOthersWaitFor) {
    run.value[series::wait_time] = [](double) { return 0.4; };
    run.on_rank_1[series::wait_time] = [](double) { return 0.02; };
    const Finding finding = found("straggler");
    EXPECT_THAT(finding.title, HasSubstr("Rank 1 is 63 % slower"));
    EXPECT_THAT(finding.evidence[0], HasSubstr("work of its own"));
}

TEST_F(DoctorOfRuns, WaitsOfEveryRankAreTheLinks) {
    run.value[series::wait_time] = [](double) { return 0.5; };
    run.on_rank_1[series::wait_time] = [](double) { return 0.45; };
    const Finding finding = found("slow-communication");
    EXPECT_THAT(finding.title, HasSubstr("at least 45 %"));
    EXPECT_FALSE(finding.changes.empty());
}

TEST_F(DoctorOfRuns, TimeSpentOnDataIsTold) {
    run.on_rank_1[series::data_time] = [](double) { return 0.2; };
    EXPECT_THAT(found("slow-data").title, HasSubstr("20 %"));
}

TEST_F(DoctorOfRuns, OutOfMemoryNamesRankStepTensorAndRemedies) {
    run.state.status = RunStatus::Failed;
    run.state.reason = "rank 1 ended with exit code 1; its last words: plimsoll-worker: rank 1: out of memory: lower …";
    const Bytes logits = run.plan.layout.micro_batch * run.plan.data.sequence_length * run.plan.model.vocab_size * 4;
    run.events_of_rank_1.push_back(
        {0,
         1201,
         EventKind::Error,
         fmt::format("Rank 1: out of memory: lower … (… you tried to allocate {} bytes. …)", logits),
         {}});
    run.events.push_back(
        {0,
         1201,
         EventKind::Error,
         "Rank 0: another rank ended, or the connection to it broke, during the all-reduce of Float [7] in "
         "the data-parallel group; its log tells",
         {}});
    const Finding finding = found("out-of-memory");
    EXPECT_EQ(finding.severity, Severity::Error);
    EXPECT_EQ(finding.title, "Rank 1 ran out of memory in step 201.");
    const std::string all = fmt::format("{}", fmt::join(finding.evidence, " "));
    EXPECT_THAT(all, HasSubstr("the logits in fp32"));
    EXPECT_THAT(all, HasSubstr("Rank 0 waited for it during the all-reduce of Float [7]"));
    ASSERT_FALSE(finding.changes.empty());
    EXPECT_THAT(finding.changes[0].reason, HasSubstr("saves"));
    EXPECT_EQ(finding_of(run.examined(), "failed"), nullptr) << "it is explained";
}

TEST_F(DoctorOfRuns, AnotherFailureIsNoLackOfMemory) {
    run.state.status = RunStatus::Failed;
    run.state.reason = "rank 0 was killed by signal 11 (SIGSEGV)";
    EXPECT_THAT(found("failed").evidence[0], HasSubstr("SIGSEGV"));
    EXPECT_EQ(finding_of(run.examined(), "out-of-memory"), nullptr);
}

TEST(TensorOfSize, FindsTheTensorThatWasAskedFor) {
    const Plan plan = plan_from_argument("llama-7b-4xa100")->plan;
    EXPECT_EQ(doctor::requested_bytes("CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has"), 2560 * MiB);
    EXPECT_EQ(doctor::requested_bytes("you tried to allocate 1125899906842688 bytes."), 1125899906842688);
    for (const char* hostile : {"", "tried to allocate", "tried to allocate nan GiB", "tried to allocate -1 bytes",
                                "tried to allocate 1e300 GiB", "tried to allocate 5 apples"})
        EXPECT_EQ(doctor::requested_bytes(hostile), std::nullopt) << hostile;
    const Bytes logits = plan.layout.micro_batch * plan.data.sequence_length * plan.model.vocab_size * 4;
    ASSERT_TRUE(doctor::tensor_of_size(plan, logits));
    EXPECT_THAT(doctor::tensor_of_size(plan, logits + logits / 200)->what, HasSubstr("logits in fp32"));
    EXPECT_EQ(doctor::tensor_of_size(plan, Bytes{1} << 50), std::nullopt);
}

TEST_F(DoctorOfRuns, NanNamesItsStepAndLayer) {
    add_event(EventKind::Nonfinite, 40,
              {{"layer", "2"},
               {"tensor", "the output of layer 2"},
               {"pass", "forward"},
               {"loss", nullptr},
               {"grad_norm", nullptr},
               {"samples", 624}});
    const Finding finding = found("nonfinite-steps");
    EXPECT_THAT(finding.title, HasSubstr("at step 40"));
    EXPECT_THAT(finding.evidence[0], HasSubstr("layer 2 (the output of layer 2), in the forward pass"));
    EXPECT_THAT(found("bad-batches").title, HasSubstr("sequences 624 to 639"));
    EXPECT_FALSE(run.examined().healthy());
}

TEST_F(DoctorOfRuns, NanThatEndedTheRunIsAnError) {
    run.state.status = RunStatus::Failed;
    run.state.reason = "the loss or the gradients were not finite 3 times in a row at step 43: lower optimizer.lr";
    EXPECT_EQ(found("nan-loss").severity, Severity::Error);
    EXPECT_EQ(finding_of(run.examined(), "failed"), nullptr);
}

TEST_F(DoctorOfRuns, OverflowsAreAStormOnlyWhereTheyGoOn) {
    in_fp16();
    for (std::uint64_t step = 2; step < 12; ++step)
        add_event(EventKind::Overflow, step, {{"scale", 1024}, {"next_scale", 512}});
    expect_fine(run.plan, run.examined(), "overflow");
    for (std::uint64_t step = 100; step < 108; ++step)
        add_event(EventKind::Overflow, step, {{"scale", 64}, {"next_scale", 32}});
    const Finding finding = found("overflow-storm");
    EXPECT_THAT(finding.evidence[0], HasSubstr("of them after step 20"));
    EXPECT_EQ(finding.changes[0].settings[0], "numerics.dtype=bf16");
}

TEST_F(DoctorOfRuns, AScaleAtItsMinimumIsTold) {
    in_fp16();
    expect_fine(run.plan, run.examined(), "loss-scale");
    run.value[series::loss_scale] = [](double step) { return step < 150 ? 8.0 : 1.0; };
    EXPECT_THAT(found("scale-at-minimum").evidence[0], HasSubstr("For the last 51 steps it was 1"));
}

TEST_F(DoctorOfRuns, AFirstLossFarAboveAGuessIsBadInitialisation) {
    run.plan.model.init_std = 0.2;
    run.value[series::loss] = [](double step) { return 2 + 40 * std::exp(-step / 20); };
    EXPECT_EQ(found("bad-initialisation").changes[0].settings[0], "model.init_std=0.02");
}

TEST_F(DoctorOfRuns, DeadAndExplodingLayersAreNamed) {
    run.layers["2"] = [](double step) { return step > 50 ? 1e-7 : 0.3; };
    run.layers["0"] = [](double) { return 90.0; };
    const Finding dead = found("dead-layers");
    EXPECT_EQ(dead.title, "Layer 2 hardly gets a gradient.");
    EXPECT_THAT(dead.evidence[0], HasSubstr("1e-07"));
    EXPECT_EQ(found("exploding-layers").title, "Layer 0 has gradients far above the other layers'.");
    // What was so once is outgrown.
    run.layers["2"] = [](double step) { return step < 50 ? 1e-7 : 0.3; };
    expect_fine(run.plan, run.examined(), "dead-layers");
}

TEST_F(DoctorOfRuns, LayersWithoutRecordsAreNotJudged) {
    run.layers.clear();
    run.plan.training.layer_norms_every = 0;
    const ChecklistItem item = item_of(run.examined(), "dead-layers");
    EXPECT_EQ(item.verdict, ItemVerdict::Unknown);
    EXPECT_THAT(item.words, HasSubstr("layer_norms_every is 0"));
}

TEST_F(DoctorOfRuns, ALossThatRisesNearThePeakRateIsARateTooHigh) {
    run.value[series::loss] = [](double step) { return step < 60 ? 5.5 - step / 20 : 2.5 + (step - 60) / 60; };
    const Finding finding = found("lr-too-high");
    EXPECT_THAT(finding.evidence[0], HasSubstr("up to step 70"));
    EXPECT_EQ(finding.changes[0].settings[0], "optimizer.lr=0.0015");
    EXPECT_EQ(finding.evidence.size(), 1U);
    // What routers add to the loss is laid beside its rise.
    run.value[series::router_loss] = [](double step) { return step / 1000; };
    const auto beside = found("lr-too-high").evidence;
    ASSERT_EQ(beside.size(), 2U);
    EXPECT_THAT(beside[1], HasSubstr("The router loss went from 0.07 to "));
    // A rise that comes after the rate has fallen is none of the rate's.
    run.value[series::lr] = [](double step) { return step < 60 ? 3e-3 : 1e-4; };
    expect_fine(run.plan, run.examined(), "lr-too-high");
}

TEST_F(DoctorOfRuns, NormsThatGrowNearThePeakRateAreAdvice) {
    run.value[series::grad_norm] = [](double step) { return step < 100 ? 0.5 : 3.0; };
    const Finding finding = found("lr-too-high");
    EXPECT_EQ(finding.severity, Severity::Advice);
    EXPECT_THAT(finding.evidence[0], HasSubstr("grew from 0.5"));
}

TEST_F(DoctorOfRuns, ALossThatStandsStillIsARateTooLow) {
    run.value[series::loss] = [](double step) { return 5.54 + 0.01 * std::sin(step); };
    EXPECT_EQ(found("lr-too-low").changes[0].settings[0], "optimizer.lr=0.009");
}

TEST_F(DoctorOfRuns, SpikesAreTooManyFromThreeInTwoHundred) {
    for (const std::uint64_t step : {50, 90})
        add_event(EventKind::Spike, step, {{"samples", 16 * step}}, "Step: the gradient norm …");
    expect_fine(run.plan, run.examined(), "spikes");
    add_event(EventKind::LossSpike, 120, {{"samples", 1920}}, "Step 120: the loss 5 is 9 deviations above.");
    const Finding finding = found("spikes");
    EXPECT_THAT(finding.evidence[0], HasSubstr("steps 50, 90, 120"));
    EXPECT_EQ(finding.evidence[1], "Step 120: the loss 5 is 9 deviations above.");
}

TEST_F(DoctorOfRuns, ClippingOfAlmostEveryStepIsTold) {
    run.value[series::grad_norm] = [](double step) { return 4 + 0.1 * std::sin(step); };
    EXPECT_EQ(found("always-clipped").changes[0].settings[0], "optimizer.clip=8");
}

TEST_F(DoctorOfRuns, AValidationLossThatRisesIsOverfitting) {
    run.validation = [](double step) { return step < 100 ? 4 - step / 50 : 2 + (step - 100) / 200; };
    EXPECT_EQ(found("overfit").changes[0].settings[0], "training.steps=100");
}

TEST_F(DoctorOfRuns, AThroughputThatFallsIsTold) {
    run.value[series::tokens_per_second] = [](double step) { return step < 150 ? 1e4 : 7e3; };
    EXPECT_THAT(found("throughput-falls").title, HasSubstr("30 %"));
}

TEST_F(DoctorOfRuns, TimeBesideStepsIsTold) {
    run.seconds_a_step = 1.5;
    run.plan.training.checkpoint_every = 10;
    for (std::uint64_t step = 10; step <= 200; step += 10) add_event(EventKind::Checkpoint, step, {{"seconds", 4.0}});
    const Finding finding = found("much-beside-steps");
    EXPECT_THAT(finding.evidence[0], HasSubstr("33 % of the time"));
    EXPECT_EQ(finding.changes[0].settings[0], "training.checkpoint_every=20");
}

TEST_F(DoctorOfRuns, ARankWithLongerStepsIsNamed) {
    run.on_rank_1[series::step_time] = [](double) { return 1.2; };
    EXPECT_THAT(found("straggler").title, HasSubstr("Rank 1 is 20 % slower"));
}

/// Operations as a simulated pipeline of two ranks takes them, the second one `slower` than its share of the work.
void record_pipeline(MadeUpRun& run, double slower) {
    run.plan =
        *with_settings(run.plan, {"layout.dp=1", "layout.pp=2", "layout.accumulation=4", "layout.micro_batch=4"});
    StageTimes times = relative_stage_times(run.plan);
    for (auto* each : {&times.forward, &times.backward_input, &times.backward_weight}) each->at(1) *= slower;
    const auto pipeline = simulate_pipeline(run.plan, times);
    ASSERT_TRUE(pipeline) << pipeline.error().message;
    run.events.clear();
    run.events_of_rank_1.clear();
    for (std::uint64_t step = 10; step <= 200; step += 10)
        for (std::size_t rank = 0; rank < 2; ++rank) {
            Json ops = Json::array();
            for (const TimedOp& op : pipeline->timeline.ranks[rank])
                ops.push_back({short_name(op.op, false), op.start, op.end});
            const double origin = 1000 + 10 * static_cast<double>(step);
            (rank == 0 ? run.events : run.events_of_rank_1)
                .push_back(
                    {step, origin, EventKind::Pipeline, "", {{"pp_rank", rank}, {"origin", origin}, {"ops", ops}}});
        }
}

TEST_F(DoctorOfRuns, ASlowPipelineRankIsNamedByItsOperations) {
    record_pipeline(run, 1.0);
    expect_fine(run.plan, run.examined(), "straggler");
    EXPECT_THAT(item_of(run.examined(), "straggler").words, HasSubstr("operations in 5 steps"));
    record_pipeline(run, 1.5);
    const Finding finding = found("straggler");
    EXPECT_THAT(finding.title, HasSubstr("Rank 1 is 50 % slower"));
    EXPECT_EQ(finding.changes.at(0).settings[0], "layout.split=balanced");
}

TEST_F(DoctorOfRuns, RollbacksAreTold) {
    add_event(EventKind::Spike, 40, {{"samples", 624}, {"action", "roll_back"}});
    EXPECT_THAT(found("bad-batches").title, HasSubstr("sequences 624 to 639"));
    add_event(EventKind::Rollback, 30, {{"from", 40}, {"to", 30}},
              "Rolled back from step 40 to the checkpoint of step 30.");
    EXPECT_EQ(found("rollbacks").evidence[0], "Rolled back from step 40 to the checkpoint of step 30.");
}

TEST_F(DoctorOfRuns, HostileRecordsAreOutlived) {
    add_event(EventKind::Nonfinite, 3, Json::array());
    add_event(EventKind::Overflow, 4, {{"scale", "large"}});
    add_event(EventKind::Memory, 2, {{"rank", 0}, {"categories", 7}});
    add_event(EventKind::Checkpoint, 5, {{"seconds", "many"}});
    run.value[series::loss] = [](double step) { return step > 100 ? std::nan("") : -1e300; };
    run.value[series::step_time] = [](double) { return -1.0; };
    expect_sound(run.plan, run.examined());
    put_contents(RunLayout(folder / "run").record(0), "nonsense");
    const auto diagnosis = examine_run(RunFolder(folder / "run"));
    ASSERT_TRUE(diagnosis);
    EXPECT_EQ(item_of(*diagnosis, "nonfinite").verdict, ItemVerdict::Unknown);
    put_contents(folder / "run/plan.json", "{");
    EXPECT_FALSE(examine_run(RunFolder(folder / "run")));
}

}  // namespace
}  // namespace plimsoll
