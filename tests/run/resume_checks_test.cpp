// SPDX-License-Identifier: Apache-2.0
// Which plans a run goes on with. What is refused changes nothing.
#include "core/run/resume_checks.h"

#include <gmock/gmock.h>

#include "core/checkpoint/checkpoint_state.h"
#include "core/checkpoint/weights_fingerprint.h"
#include "core/control/lr_extension.h"
#include "core/data/corpus.h"
#include "core/plan/plan_schema.h"
#include "tests/support/changed_field.h"
#include "tests/support/run_fixture.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

class ResumeTest : public RunTest {
protected:
    /// Of the plan as it is now; the files are made up, and their checksums are right.
    void add_checkpoint(const RunFolder& run, std::int64_t step, const DataFingerprint& data,
                        std::uint64_t weights = 0) {
        const fs::path checkpoint = run.layout().checkpoint(step);
        fs::create_directories(checkpoint);
        for (const char* name : {model_file, optimizer_file, config_file}) put_contents(checkpoint / name, name);
        StateDocument document;
        document.state.step = step;
        document.state.data = data;
        document.state.weights = weights;
        ASSERT_TRUE(write_state(checkpoint, document, {model_file, optimizer_file, config_file}));
    }
    void add_checkpoint(const RunFolder& run, std::int64_t step) {
        add_checkpoint(run, step, fingerprint_of(*load_corpus(plan.data), plan));
    }

    /// Names and contents of everything below.
    std::map<std::string, std::string> picture(const fs::path& path) {
        std::map<std::string, std::string> files;
        for (const auto& entry : fs::recursive_directory_iterator(path)) {
            files[entry.path().string()] = entry.is_regular_file() ? contents_of(entry.path()) : "";
        }
        return files;
    }

    void expect_refused(const RunFolder& run, const Plan& wanted, const std::string& words,
                        const ResumeOptions& options = {}) {
        const auto before = picture(run.path());
        const auto resumed = RunFolder::create(run.path(), wanted, true, options);
        ASSERT_FALSE(resumed) << words;
        EXPECT_EQ(resumed.error().kind, Error::Kind::BadInput);
        EXPECT_THAT(resumed.error().message, HasSubstr(words));
        EXPECT_EQ(picture(run.path()), before) << "byte for byte";
    }

    void expect_resumed(const RunFolder& run, const Plan& wanted, const ResumeOptions& options = {}) {
        const auto resumed = RunFolder::create(run.path(), wanted, true, options);
        ASSERT_TRUE(resumed) << resumed.error().message;
        EXPECT_TRUE(*run.plan() == wanted);
    }
};

TEST_F(ResumeTest, EachFieldChangesOrIsRefusedWithItsReason) {
    const RunFolder run = make_run();
    int changed = 0, refused = 0;
    for (const FieldInfo& field : plan_fields()) {
        SCOPED_TRACE(field.key);
        const Plan wanted = with_changed_field(plan, field.key);
        const auto checked = check_resume(run.layout(), plan, wanted);
        const bool batch = wanted.layout.global_batch() != plan.layout.global_batch();
        if (field.may_change_on_resume && !batch) {
            ++changed;
            EXPECT_TRUE(checked) << checked.error().message;
            continue;
        }
        ++refused;
        ASSERT_FALSE(checked);
        EXPECT_EQ(checked.error().kind, Error::Kind::BadInput);
        if (batch) {
            EXPECT_THAT(checked.error().message, HasSubstr("another global batch"));
        } else {
            EXPECT_THAT(checked.error().message, AllOf(HasSubstr(field.key + " was "), HasSubstr(field.resume_reason)));
        }
        expect_refused(run, wanted, "cannot resume");
    }
    EXPECT_GT(changed, 40);
    EXPECT_GT(refused, 80);
}

TEST_F(ResumeTest, WhatLeavesTheTrainingAsItIsMayChange) {
    const RunFolder run = make_run();
    Plan wanted = plan;
    wanted.name = "another";
    wanted.layout.dp = 1;
    wanted.layout.accumulation *= 2;
    wanted.cluster.gpus_per_node = 1;
    wanted.layout.zero_stage = 0;
    wanted.training.steps = 1234;
    wanted.training.threads = 3;
    wanted.training.checkpoint_every = 7;
    wanted.training.keep_checkpoints = 9;
    wanted.training.validate_every = 11;
    wanted.training.sample_every = 0;
    wanted.training.sample_prompt = "";
    wanted.training.layer_norms_every = 1;
    wanted.training.bucket_mib = 3;
    expect_resumed(run, wanted);
}

TEST_F(ResumeTest, SeveralFieldsAreNamed) {
    const RunFolder run = make_run();
    Plan wanted = plan;
    wanted.adapter.alpha = 64;
    wanted.optimizer.lr = 0.5;
    expect_refused(run, wanted, "optimizer.lr was 0.001 and is 0.5 now");
    expect_refused(run, wanted, "adapter.alpha was 32.0 and is 64.0 now");
    expect_refused(run, wanted, "the checkpoint holds the matrices of this adapter");
}

TEST_F(ResumeTest, FewerStepsThanAreDoneAreRefused) {
    const RunFolder run = make_run();
    add_checkpoint(run, 200);
    add_checkpoint(run, 250);
    plan.training.steps = 249;
    expect_refused(run, plan, "has done 250 steps already, more than the 249 that are asked for; give 250 or more");
    plan.training.steps = 250;
    expect_resumed(run, plan);
}

TEST_F(ResumeTest, TheSameTextElsewhereIsTakenAndAnotherIsNot) {
    const RunFolder run = make_run();
    add_checkpoint(run, 100);
    fs::create_directories(folder / "moved");
    fs::rename(folder / "corpus.txt", folder / "moved/text.txt");
    plan.data.path = (folder / "moved/text.txt").string();
    expect_resumed(run, plan);
    // The same size, and one bit of another text
    std::string text = contents_of(folder / "moved/text.txt");
    text[text.size() / 2] ^= 1;
    put_contents(folder / "other.txt", text);
    Plan other = plan;
    other.data.path = (folder / "other.txt").string();
    expect_refused(run, other, "is not the text that the run was trained on");
    put_contents(folder / "moved/text.txt", text);
    expect_refused(run, plan, "is not the text that the run was trained on");
}

TEST_F(ResumeTest, WithoutAHashTheTextThatTheRunNamedIsCompared) {
    const RunFolder run = make_run();
    add_checkpoint(run, 100, DataFingerprint());
    fs::copy(folder / "corpus.txt", folder / "copy.txt");
    put_contents(folder / "other.txt", std::string(70'000, 'x'));
    Plan wanted = plan;
    wanted.data.path = (folder / "other.txt").string();
    expect_refused(run, wanted, "is not the text that the run was trained on");
    fs::rename(folder / "corpus.txt", folder / "gone.txt");
    wanted.data.path = (folder / "copy.txt").string();
    expect_refused(run, wanted, "cannot tell whether");
    fs::rename(folder / "gone.txt", folder / "corpus.txt");
    expect_resumed(run, wanted);
}

TEST_F(ResumeTest, WeightsBesideAdaptersHaveToBeTheSame) {
    fs::create_directories(folder / "base");
    put_contents(folder / "base/model.safetensors", "weights");
    fs::copy(folder / "base", folder / "copy");
    fs::create_directories(folder / "others");
    put_contents(folder / "others/model.safetensors", "Weights");
    plan.adapter.rank = 4;
    plan.model.weights = (folder / "base").string();
    const RunFolder run = make_run();
    add_checkpoint(run, 100, {}, *weights_fingerprint(folder / "base"));
    Plan wanted = plan;
    wanted.model.weights = (folder / "others").string();
    expect_refused(run, wanted, "are not those that the adapter of this run was trained beside");
    fs::remove_all(folder / "base");
    wanted.model.weights = (folder / "copy").string();
    put_contents(folder / "copy/README.md", "not of the weights");
    expect_resumed(run, wanted);
}

TEST_F(ResumeTest, AllCheckpointsDamagedIsAnErrorThatAsksAndFromScratchKeepsThem) {
    const RunFolder run = make_run();
    add_checkpoint(run, 100);
    add_checkpoint(run, 200);
    put_contents(run.layout().checkpoint(200) / model_file, "Model.safetensors");
    expect_resumed(run, plan);
    put_contents(run.layout().checkpoint(100) / state_file, "{}");
    expect_refused(run, plan, "no checkpoint in " + run.checkpoints().string() + " is whole (step-00000200: ");
    expect_refused(run, plan, "--from-scratch --run " + run.path().string());
    const auto before = picture(run.checkpoints());
    expect_resumed(run, plan, {.from_scratch = true});
    EXPECT_TRUE(fs::is_empty(run.checkpoints()));
    const auto kept = picture(run.layout().old_checkpoints(1));
    EXPECT_EQ(kept.size(), before.size());
    EXPECT_EQ(contents_of(run.layout().old_checkpoints(1) / "step-00000200" / model_file), "Model.safetensors");
    // Once more: what was kept stays.
    add_checkpoint(run, 300);
    expect_resumed(run, plan, {.from_scratch = true});
    EXPECT_EQ(picture(run.layout().old_checkpoints(1)), kept);
    EXPECT_TRUE(fs::exists(run.layout().old_checkpoints(2) / "step-00000300" / model_file));
}

TEST_F(ResumeTest, ARateThatWouldJumpUpAsksHowToGoOn) {
    const RunFolder run = make_run();
    add_checkpoint(run, 300);
    Plan wanted = plan;
    wanted.training.steps = 600;
    expect_refused(run, wanted, "with 600 steps in place of 300 the learning rate would jump from 0.0001 to ");
    expect_refused(run, wanted, "at step 301; choose how the run goes on: --extend constant");
    wanted.lr = extended(plan.lr, 300, LrExtension::Constant);
    expect_resumed(run, wanted);
    wanted.lr = plan.lr;
    wanted.training.steps = 900;
    expect_resumed(run, wanted, {.jump_is_meant = true});
}

}  // namespace
}  // namespace plimsoll
