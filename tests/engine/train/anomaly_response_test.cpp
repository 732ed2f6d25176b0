// SPDX-License-Identifier: Apache-2.0
// What a run does about steps that stand out, with a model that is one number.
#include "core/engine/train/anomaly_response.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/control/lr_schedule.h"
#include "tests/engine/train/fake_run.h"
#include "tests/support/temp_folder.h"

namespace plimsoll::engine {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Anomaly : public ::testing::Test {
protected:
    Plan plan = fake_plan();
    TempFolder folder;
    fs::path checkpoints() const { return RunLayout(folder.path()).checkpoints(); }
    /// A run that rolls back, with checkpoints of the updates 0, 10 and 15 and 18 made.
    std::unique_ptr<FakeRun> with_checkpoints() {
        plan.guard.rollback = true;
        auto run = std::make_unique<FakeRun>(folder.path(), plan);
        for (const std::int64_t updates : {0, 10, 15}) {
            run->go_to(updates);
            run->save();
        }
        run->go_to(18);
        return run;
    }
};

TEST_F(Anomaly, TheLadderIsClimbedInOrder) {
    Guard& guard = plan.guard;
    guard.clip = guard.skip = guard.cut_lr = guard.checkpoint = guard.rollback = true;
    FakeRun run(folder.path(), plan);
    run.save();
    run.go_to(12);

    StepRecord step = run.spike();
    EXPECT_EQ(step.decision.action, GuardAction::Clip);
    EXPECT_TRUE(step.applied);
    EXPECT_GT(step.decision.clip_to, 0);
    EXPECT_LT(step.decision.clip_to, 2);
    EXPECT_EQ(run.position, (RunPosition{13, 13 * FakeRun::batch}));

    step = run.spike();
    EXPECT_EQ(step.decision.action, GuardAction::Skip);
    EXPECT_FALSE(step.applied);
    EXPECT_EQ(run.position, (RunPosition{13, 14 * FakeRun::batch})) << "the batch is spent, the update is not made";

    step = run.spike();
    EXPECT_EQ(step.decision.action, GuardAction::CutLr);
    EXPECT_TRUE(step.applied);
    EXPECT_EQ(step.lr, learning_rate(plan, 13) * 0.8) << "of this step already";
    EXPECT_EQ(run.response.rate(20), learning_rate(plan, 20) * 0.8) << "and of those to come";

    EXPECT_THAT(names_in(checkpoints()), ElementsAre("step-00000000"));
    step = run.spike();
    EXPECT_EQ(step.decision.action, GuardAction::Checkpoint);
    EXPECT_FALSE(step.applied);
    EXPECT_THAT(names_in(checkpoints()), ElementsAre("step-00000000", "step-00000014"));

    step = run.spike();
    EXPECT_EQ(step.decision.action, GuardAction::Rollback);
    EXPECT_FALSE(step.applied);
    EXPECT_EQ(run.position, (RunPosition{14, 16 * FakeRun::batch})) << "as the checkpoint has it";

    std::vector<std::string> actions;
    for (const Event& event : run.events(EventKind::Spike)) actions.push_back(event.details.at("action"));
    EXPECT_THAT(actions, ElementsAre("clip", "skip", "cut_lr", "checkpoint", "roll_back"));
    EXPECT_EQ(run.looked_for_bad, 0) << "a spike is finite";
    EXPECT_EQ(run.error, "");
}

TEST_F(Anomaly, ARollbackTakesTheNewestCheckpointAndLeavesTheBatchOut) {
    const auto run = with_checkpoints();
    run->nonfinite();
    EXPECT_EQ(run->position, (RunPosition{15, 15 * FakeRun::batch}));
    EXPECT_EQ(run->model.value, 15);
    EXPECT_EQ(run->model.moment, 7.5);
    EXPECT_EQ(run->model.optimizer_steps, 15);
    EXPECT_EQ(run->model.loaded_from, checkpoints() / "step-00000015" / "model.safetensors");

    const Event event = run->events(EventKind::Rollback).at(0);
    EXPECT_EQ(event.step, 15U);
    EXPECT_EQ(event.details, Json({{"from", 19}, {"to", 15}, {"samples", 18 * FakeRun::batch}}));
    EXPECT_THAT(event.sentence, HasSubstr("Rolled back from step 19 to the checkpoint of step 15; the batch of "
                                          "sequences 144 to 151 is left out."));
    std::vector<std::uint64_t> batches;
    for (int i = 0; i < 4; ++i) batches.push_back(run->good().samples / FakeRun::batch);
    EXPECT_THAT(batches, ElementsAre(15, 16, 17, 19));
    EXPECT_EQ(run->position, (RunPosition{19, 20 * FakeRun::batch}));
}

TEST_F(Anomaly, TheBatchIsLeftOutAfterARestartToo) {
    {
        const auto run = with_checkpoints();
        run->nonfinite();
        run->go_to(17);
        run->save();
    }
    const Json written = read_json(checkpoints() / "step-00000017" / "state.json").value();
    EXPECT_EQ(written.at("left_out"), Json::array({18 * FakeRun::batch}));
    EXPECT_EQ(written.at("guard").at("rollbacks"), 1);

    FakeRun again(folder.path(), plan);
    EXPECT_EQ(again.choice.step, 17);
    EXPECT_EQ(again.model.value, 17);
    EXPECT_EQ(again.response.state(again.position).guard.rollbacks, 1) << "they count on";
    EXPECT_EQ(again.good().samples, 17 * FakeRun::batch);
    EXPECT_EQ(again.good().samples, 19 * FakeRun::batch);
}

TEST_F(Anomaly, ARollbackThatComesBackTakesTheCheckpointBefore) {
    const auto run = with_checkpoints();
    run->nonfinite();
    ASSERT_EQ(run->position.updates, 15);
    run->go_to(18);
    run->nonfinite();
    EXPECT_EQ(run->position, (RunPosition{10, 10 * FakeRun::batch})) << "15 led here twice";
    EXPECT_EQ(run->model.value, 10);
    EXPECT_THAT(names_in(checkpoints()), ElementsAre("left-step-00000015", "step-00000000", "step-00000010"));
    EXPECT_THAT(run->response.state(run->position).left_out, ElementsAre(18 * FakeRun::batch, 19 * FakeRun::batch));

    run->go_to(15);
    run->save();
    EXPECT_THAT(names_in(checkpoints()),
                ElementsAre("left-step-00000015", "step-00000000", "step-00000010", "step-00000015"))
        << "the new branch has its own";
}

TEST_F(Anomaly, ACheckpointMadeSinceIsGoneBackToFirst) {
    const auto run = with_checkpoints();
    run->nonfinite();
    run->go_to(17);
    run->save();
    run->go_to(18);
    run->nonfinite();
    EXPECT_EQ(run->position.updates, 17);
    EXPECT_THAT(names_in(checkpoints()), Contains("step-00000015"));
}

TEST_F(Anomaly, TheOnlyCheckpointIsGoneBackToAgain) {
    plan.guard.rollback = true;
    FakeRun run(folder.path(), plan);
    run.save();
    for (int i = 0; i < 2; ++i) {
        run.go_to(3);
        run.nonfinite();
        EXPECT_EQ(run.position, (RunPosition{0, 0}));
    }
    EXPECT_THAT(names_in(checkpoints()), ElementsAre("step-00000000"));
    EXPECT_THAT(run.response.state(run.position).left_out, ElementsAre(3 * FakeRun::batch, 4 * FakeRun::batch));
}

TEST_F(Anomaly, ADamagedCheckpointIsPassedOverOnTheWayBack) {
    const auto run = with_checkpoints();
    fs::resize_file(checkpoints() / "step-00000015" / "optimizer.safetensors", 100);
    run->nonfinite();
    EXPECT_EQ(run->position.updates, 10);
    EXPECT_EQ(run->model.value, 10);
}

TEST_F(Anomaly, WithoutACheckpointTheBatchIsSkipped) {
    plan.guard.rollback = true;
    FakeRun run(folder.path(), plan);
    run.go_to(3);
    run.nonfinite();
    EXPECT_EQ(run.position, (RunPosition{3, 4 * FakeRun::batch}));
    EXPECT_EQ(run.model.value, 3);
    EXPECT_THAT(run.events(EventKind::Rollback).at(0).sentence,
                HasSubstr("Step 4: there is no checkpoint to go back to; the batch was skipped."));
}

TEST_F(Anomaly, RollbacksThatDoNotHelpEndTheRun) {
    plan.guard.max_rollbacks = 2;
    const auto run = with_checkpoints();
    run->nonfinite();
    run->nonfinite();
    EXPECT_EQ(run->error, "");
    const RunPosition before = run->position;
    run->nonfinite();
    EXPECT_THAT(run->error, HasSubstr(fmt::format("step {} is as bad after 2 rollbacks", before.updates + 1)));
    EXPECT_EQ(run->events(EventKind::Rollback).size(), 2U);
}

TEST_F(Anomaly, ARollbackKeepsTheCutAndTheRungButNotTheWindows) {
    plan.guard.cut_lr = true;
    const auto run = with_checkpoints();
    run->spike();
    const auto saved = read_json(checkpoints() / "step-00000015" / "state.json").value();
    run->spike();
    ASSERT_EQ(run->position.updates, 15);
    const GradientGuard::State guard = run->response.state(run->position).guard;
    EXPECT_EQ(guard.lr_factor, 0.8);
    EXPECT_EQ(guard.rung, 2);
    EXPECT_EQ(guard.norms.seen, 15);
    EXPECT_EQ(to_json(guard).at("norms"), saved.at("guard").at("norms"));
}

TEST_F(Anomaly, ThreeStepsInARowThatAreNotFiniteEndARunWithoutAGuard) {
    FakeRun run(folder.path(), plan);
    run.go_to(2);
    run.nonfinite();
    run.nonfinite();
    EXPECT_EQ(run.error, "");
    run.good();
    run.nonfinite();
    run.nonfinite();
    EXPECT_EQ(run.error, "") << "a good step between begins the count anew";
    run.nonfinite();
    EXPECT_THAT(run.error, HasSubstr("not finite 3 times in a row at step 4"));
    EXPECT_EQ(run.model.value, 3);
    EXPECT_EQ(run.looked_for_bad, 5);
}

TEST_F(Anomaly, WhereTheNumbersWentBadIsTold) {
    FakeRun run(folder.path(), plan);
    run.bad = BadNumbers{.tensor = "the output of layer 1", .layer = "1", .forward = true, .nan = true};
    run.nonfinite();
    run.bad = std::nullopt;
    run.nonfinite();
    const auto events = run.events(EventKind::Nonfinite);
    ASSERT_EQ(events.size(), 2U);
    EXPECT_THAT(events[0].sentence, HasSubstr("; the first NaN was in layer 1 (the output of layer 1), in the forward "
                                              "pass; the update was skipped on all ranks."));
    EXPECT_EQ(events[0].details.at("layer"), "1");
    EXPECT_EQ(events[0].details.at("pass"), "forward");
    EXPECT_THAT(events[1].sentence, HasSubstr("; every gradient is finite, their norm alone is not; the update"));
    EXPECT_FALSE(events[1].details.contains("tensor"));
}

TEST_F(Anomaly, AnOverflowIsTheLossScalersAlone) {
    plan.numerics.dtype = Dtype::Fp16;
    plan.numerics.initial_scale_power = 10;
    plan.numerics.hysteresis = 1;
    plan.guard.rollback = true;
    FakeRun run(folder.path(), plan);
    run.go_to(2);
    EXPECT_EQ(run.divisor, 1024);
    const double rate = run.response.rate(2);
    const StepRecord step = run.step(2, std::numeric_limits<double>::infinity());
    EXPECT_TRUE(step.overflow);
    EXPECT_FALSE(step.applied);
    EXPECT_EQ(step.decision.finding, GuardFinding::None);
    EXPECT_EQ(run.response.scale(), 512);
    EXPECT_EQ(run.response.rate(run.position.updates), rate) << "the schedule waits";
    EXPECT_EQ(run.position, (RunPosition{2, 3 * FakeRun::batch}));
    ASSERT_EQ(run.events().size(), 1U);
    EXPECT_EQ(run.events(EventKind::Overflow).at(0).details, Json({{"scale", 1024.0}, {"next_scale", 512.0}}));
}

TEST_F(Anomaly, EndlessOverflowsEndTheRun) {
    plan.numerics.dtype = Dtype::Fp16;
    plan.numerics.loss_scale = 1e30;
    FakeRun run(folder.path(), plan);
    for (int i = 0; i < 9; ++i) {
        run.step(2, std::numeric_limits<double>::infinity());
        EXPECT_EQ(run.error, "");
    }
    run.step(2, std::numeric_limits<double>::infinity());
    EXPECT_THAT(run.error, HasSubstr("overflowed 10 steps in a row at step 1"));
}

TEST_F(Anomaly, ARollbackTakesTheLossScaleBack) {
    plan.numerics.dtype = Dtype::Fp16;
    plan.numerics.initial_scale_power = 10;
    plan.numerics.hysteresis = 1;
    const auto run = with_checkpoints();
    run->step(2, std::numeric_limits<double>::infinity());
    ASSERT_EQ(run->response.scale(), 512);
    run->nonfinite();  // the loss itself: more than an overflow
    EXPECT_EQ(run->position.updates, 15);
    EXPECT_EQ(run->response.scale(), 1024);
}

}  // namespace
}  // namespace plimsoll::engine
