// SPDX-License-Identifier: Apache-2.0
// What is kept beside a run: notes, the trash, its line in a list, its checkpoints, and plans that go on from it.
#include <gmock/gmock.h>

#include "core/checkpoint/checkpoint_state.h"
#include "core/control/lr_schedule.h"
#include "core/run/checkpoint_list.h"
#include "core/run/continued_run.h"
#include "core/run/run_lock.h"
#include "core/run/run_notes.h"
#include "core/run/run_store.h"
#include "core/run/run_summary.h"
#include "core/run/run_trash.h"
#include "core/telemetry/writer.h"
#include "tests/support/run_fixture.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class RunKeepingTest : public RunTest {
protected:
    static void record_loss(const RunFolder& run, std::uint64_t from, std::uint64_t to, double loss) {
        auto writer = TelemetryWriter::open(run.telemetry_path(0));
        ASSERT_TRUE(writer) << writer.error().message;
        for (std::uint64_t step = from; step < to; ++step)
            ASSERT_TRUE(writer->points(step, 1e9 + static_cast<double>(step), {{series::loss, loss}}));
    }
    static void add_checkpoint(const RunFolder& run, std::int64_t step, std::optional<double> loss) {
        const fs::path folder = run.layout().checkpoint(step);
        fs::create_directories(folder);
        put_contents(folder / model_file, std::string(1000, 'w'));
        StateDocument document;
        document.state.step = step;
        document.state.loss = loss;
        ASSERT_TRUE(write_state(folder, document, {model_file}));
    }
};

TEST_F(RunKeepingTest, NotesComeBackAsTheyWereWritten) {
    const RunFolder run = make_run();
    EXPECT_EQ(read_run_notes(run.layout()), RunNotes());
    const RunNotes notes{.title = "warm start", .tags = {"baseline", "lr"}, .note = "Second try\nwith more warmup."};
    ASSERT_TRUE(write_run_notes(run.layout(), notes));
    EXPECT_EQ(read_run_notes(run.layout()), notes);
    EXPECT_EQ(tags_of(" lr sweep ,, warm,lr sweep"), (std::vector<std::string>{"lr sweep", "warm"}));
    const auto refused = write_run_notes(run.layout(), {.title = std::string(201, 'x'), .tags = {}, .note = {}});
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("201 bytes"));
    EXPECT_EQ(read_run_notes(run.layout()), notes);
    put_contents(run.path() / "notes.json", "{ torn");
    EXPECT_EQ(read_run_notes(run.layout()), RunNotes());
}

TEST_F(RunKeepingTest, ADeletedRunComesBackUnderItsNameAndALiveOneStays) {
    const RunFolder run = make_run("store/one");
    put_contents(run.layout().log(0), "words");
    const auto trashed = put_in_trash(run);
    ASSERT_TRUE(trashed) << trashed.error().message;
    EXPECT_FALSE(fs::exists(run.path()));
    EXPECT_TRUE(list_runs(folder / "store").empty()) << "what is in the trash is in no list";
    EXPECT_EQ(count_trash(folder / "store").runs, 1U);
    EXPECT_GT(count_trash(folder / "store").bytes, 5);

    const RunFolder other = make_run("store/one");
    const auto back = put_back(*trashed);
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(back->filename(), "one-2") << "the name was taken meanwhile";
    EXPECT_EQ(contents_of(*back / "logs" / "rank-0.log"), "words");
    EXPECT_EQ(list_runs(folder / "store").size(), 2U);

    const auto lock = RunLock::take(other.lock_path());
    ASSERT_TRUE(lock);
    const auto refused = put_in_trash(other);
    ASSERT_FALSE(refused) << "it is live";
    EXPECT_THAT(refused.error().message, HasSubstr("stop it before"));
    ASSERT_TRUE(put_in_trash(RunFolder(*back)));
    ASSERT_TRUE(empty_trash(folder / "store"));
    EXPECT_EQ(count_trash(folder / "store").runs, 0U);
    EXPECT_TRUE(fs::exists(other.path()));
}

TEST_F(RunKeepingTest, ASummarySaysHowFarTheRunGot) {
    plan.training.steps = 300;
    const RunFolder run = make_run("store/two");
    record_loss(run, 1, 120, 2.5);
    RunSummary summary = summarize(run);
    EXPECT_EQ(summary.step, 119);
    EXPECT_EQ(summary.loss, 2.5);
    EXPECT_EQ(summary.title(), "two");
    ASSERT_TRUE(summary.plan.has_value());
    EXPECT_EQ(summary.plan->training.steps, 300);

    ASSERT_TRUE(write_run_notes(run.layout(), {.title = "mine", .tags = {}, .note = {}}));
    record_loss(run, 120, 140, 2.25);
    const RunSummary later = summarize(run, &summary);
    EXPECT_EQ(later.step, 139) << "a record that has grown is read again";
    EXPECT_EQ(later.loss, 2.25);
    EXPECT_EQ(later.title(), "mine");
}

TEST_F(RunKeepingTest, CheckpointsAreListedWithSizeAndLoss) {
    const RunFolder run = make_run();
    add_checkpoint(run, 100, 2.75);
    add_checkpoint(run, 200, std::nullopt);
    fs::create_directories(run.layout().checkpoint(300));
    const auto all = list_checkpoints(run.layout());
    ASSERT_EQ(all.size(), 3U);
    EXPECT_EQ(all[0].step, 300);
    EXPECT_FALSE(all[0].complete) << "it has no state.json";
    EXPECT_EQ(all[1].loss, std::nullopt);
    EXPECT_EQ(all[2].loss, 2.75);
    EXPECT_TRUE(all[2].complete);
    EXPECT_GT(all[2].bytes, 1000);
    EXPECT_GT(all[2].saved, 1e9);
    EXPECT_FALSE(all[2].adapter);
}

TEST_F(RunKeepingTest, MoreStepsKeepTheRateThatWasReached) {
    plan.training.steps = 100;
    plan.lr.kind = LrKind::Cosine;
    plan.lr.warmup_steps = 10;
    plan.lr.min_ratio = 0.1;
    plan.optimizer.lr = 1e-3;
    const Plan constant = with_more_steps(plan, 150, LrExtension::Constant);
    EXPECT_EQ(constant.training.steps, 150);
    EXPECT_NEAR(learning_rate(constant, 120), 1e-4, 1e-9) << "the floor of the old schedule";
    const Plan stretched = with_more_steps(plan, 150, LrExtension::Stretch);
    EXPECT_GT(learning_rate(stretched, 100), 2e-4);
    EXPECT_EQ(with_more_steps(plan, 100, LrExtension::Rewarm).lr, plan.lr) << "nothing is added";
}

TEST_F(RunKeepingTest, AForkBeginsWithTheWeightsOfTheCheckpoint) {
    plan.name = "demo";
    ListedCheckpoint checkpoint;
    checkpoint.step = 40;
    checkpoint.path = "/runs/a/checkpoints/step-00000040";
    const Plan fork = forked_plan(plan, checkpoint);
    EXPECT_EQ(fork.model.weights, "/runs/a/checkpoints/step-00000040");
    EXPECT_EQ(fork.name, "demo, from step 40");
    checkpoint.adapter = true;
    plan.adapter.rank = 8;
    plan.model.weights = "/models/base";
    const Plan adapter = forked_plan(plan, checkpoint);
    EXPECT_EQ(adapter.model.weights, "/models/base");
    EXPECT_EQ(adapter.adapter.weights, "/runs/a/checkpoints/step-00000040");
}

}  // namespace
}  // namespace plimsoll
