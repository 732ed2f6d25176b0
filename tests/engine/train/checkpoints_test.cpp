// SPDX-License-Identifier: Apache-2.0
// Which checkpoints a run goes on from and which it leaves, with a model that is one number.
#include "core/engine/train/checkpoints.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "tests/engine/train/fake_run.h"
#include "tests/support/temp_folder.h"

namespace plimsoll::engine {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

class RunCheckpoints : public ::testing::Test {
protected:
    Plan plan = fake_plan();
    TempFolder folder;
    fs::path checkpoints() const { return RunLayout(folder.path()).checkpoints(); }
    fs::path file(const std::string& checkpoint, const std::string& name) const {
        return checkpoints() / checkpoint / name;
    }
    /// Makes checkpoints of these updates.
    void train(const std::vector<std::int64_t>& updates) {
        FakeRun run(folder.path(), plan);
        for (const std::int64_t each : updates) {
            run.go_to(each);
            run.save();
        }
    }
};

TEST_F(RunCheckpoints, ARunWithoutOneBeginsAtTheStart) {
    const FakeRun run(folder.path(), plan);
    EXPECT_EQ(run.choice.step, std::nullopt);
    EXPECT_THAT(run.choice.damaged, IsEmpty());
    EXPECT_EQ(run.position, RunPosition());
    EXPECT_FALSE(fs::exists(checkpoints())) << "looking makes nothing";
}

TEST_F(RunCheckpoints, ARunGoesOnFromTheNewest) {
    train({3, 12});
    FakeRun again(folder.path(), plan);
    EXPECT_EQ(again.choice.step, 12);
    EXPECT_EQ(again.position, (RunPosition{12, 12 * FakeRun::batch}));
    EXPECT_EQ(again.model.value, 12);
    EXPECT_EQ(again.model.moment, 6);
    EXPECT_EQ(again.model.optimizer_steps, 12);
    EXPECT_EQ(again.response.state(again.position).guard.norms.seen, 12);
    EXPECT_EQ(again.response.state(again.position).guard.clean_steps, 12);
}

TEST_F(RunCheckpoints, StateJsonHoldsWhatTheRunGoesOnFrom) {
    plan.numerics.dtype = Dtype::Fp16;
    plan.numerics.initial_scale_power = 10;
    train({12});
    EXPECT_THAT(names_in(checkpoints() / "step-00000012"),
                ElementsAre("config.json", "model.safetensors", "optimizer.safetensors", "state.json"));
    const Json state = read_json(file("step-00000012", "state.json")).value();
    EXPECT_EQ(state.at("step"), 12);
    EXPECT_EQ(state.at("samples"), 12 * FakeRun::batch);
    EXPECT_EQ(state.at("optimizer_steps"), 12);
    EXPECT_EQ(state.at("loss_scaler").at("scale"), 1024);
    EXPECT_EQ(state.at("loss_scaler").at("iteration"), 12);
    EXPECT_EQ(state.at("guard").at("norms").at("seen"), 12);
    EXPECT_EQ(state.at("guard").at("lr_factor"), 1);
    EXPECT_EQ(state.at("guard").at("rollbacks"), 0);
    EXPECT_EQ(state.at("left_out"), Json::array());
    std::vector<std::string> vouched;
    for (const auto& [name, sum] : state.at("files").items()) vouched.push_back(name);
    EXPECT_THAT(vouched, UnorderedElementsAre("config.json", "model.safetensors", "optimizer.safetensors"));
}

TEST_F(RunCheckpoints, ATornOneIsPassedOverAndNamed) {
    train({3, 6, 9, 12});
    const auto whole = fs::file_size(file("step-00000012", "model.safetensors"));
    fs::resize_file(file("step-00000012", "model.safetensors"), whole - 1);
    fs::remove(file("step-00000009", "state.json"));
    {
        FakeRun again(folder.path(), plan);
        EXPECT_EQ(again.choice.step, 6);
        EXPECT_EQ(again.model.value, 6);
        EXPECT_EQ(again.model.loaded_from, file("step-00000006", "model.safetensors"));
        EXPECT_THAT(again.choice.damaged, ElementsAre(StartsWith("step-00000012: "), StartsWith("step-00000009: ")));
        EXPECT_THAT(again.choice.damaged[0], HasSubstr(fmt::format("({} bytes, {} were written)", whole - 1, whole)));
        again.go_to(12);
        again.save();
    }
    EXPECT_EQ(FakeRun(folder.path(), plan).choice.step, 12) << "the torn one of that step is replaced";
}

TEST_F(RunCheckpoints, AllDamagedIsToldApartFromNone) {
    train({3, 6});
    for (const char* name : {"step-00000003", "step-00000006"}) {
        put_contents(file(name, "model.safetensors"), "torn");
    }
    FakeRun again(folder.path(), plan);
    EXPECT_EQ(again.choice.step, std::nullopt);
    EXPECT_TRUE(again.choice.all_damaged);
    const Error error = again.checkpoints.no_whole_one(again.choice);
    EXPECT_EQ(error.kind, Error::Kind::BadInput);
    EXPECT_THAT(error.message, HasSubstr("is whole (step-00000006: "));
    EXPECT_THAT(error.message, HasSubstr("; step-00000003: "));
    EXPECT_THAT(error.message, HasSubstr("--from-scratch --run " + folder.path().string() + "`"));
    EXPECT_FALSE(FakeRun(TempFolder().path(), plan).choice.all_damaged);
}

TEST_F(RunCheckpoints, OneOfOtherInputsIsRefused) {
    const RunInputs inputs{{1000, 17, 18}, 19};
    {
        FakeRun run(folder.path(), plan);
        run.checkpoints.of_inputs(inputs);
        run.go_to(3);
        run.save();
    }
    const auto refusal = [&](const RunInputs& now) -> std::string {
        FakeRun run(folder.path(), plan);
        run.checkpoints.of_inputs(now);
        const auto loaded = run.checkpoints.load(3);
        return loaded ? "" : loaded.error().message;
    };
    EXPECT_EQ(refusal(inputs), "");
    EXPECT_THAT(refusal({{1000, 71, 18}, 19}), HasSubstr("is not the text that the run was trained on"));
    EXPECT_THAT(refusal({{1000, 17, 81}, 19}), HasSubstr("in another order"));
    EXPECT_THAT(refusal({{1000, 17, 18}, 91}), HasSubstr("trained beside"));
}

TEST_F(RunCheckpoints, OneBehindTheLastStepIsRefused) {
    train({3});
    Plan shorter = plan;
    shorter.training.steps = 2;
    TempFolder elsewhere;
    FakeRun run(elsewhere.path(), shorter);
    fs::copy(checkpoints(), RunLayout(elsewhere.path()).checkpoints(), fs::copy_options::recursive);
    const auto loaded = run.checkpoints.load(3);
    ASSERT_FALSE(loaded);
    EXPECT_THAT(loaded.error().message, HasSubstr("the run has done 3 steps already, more than training.steps 2"));
}

TEST_F(RunCheckpoints, TheLastLossComesBack) {
    train({3});
    FakeRun again(folder.path(), plan);
    EXPECT_EQ(again.response.last_loss(), 2) << "of step 3";
    again.good();
    EXPECT_EQ(again.response.last_loss(), 2.2);
}

TEST_F(RunCheckpoints, EachDeclaresTheSeriesAgain) {
    FakeRun run(folder.path(), plan);
    const auto declarations = [&] {
        std::size_t count = 0;
        const std::string bytes = contents_of(RunLayout(folder.path()).record(0));
        for (std::size_t at = bytes.find(series::grad_norm); at != std::string::npos;
             at = bytes.find(series::grad_norm, at + 1)) {
            ++count;
        }
        return count;
    };
    const auto record = [&] { ASSERT_TRUE(run.reporter.record(run.good(), std::nullopt)); };
    record();
    record();
    const std::size_t first = declarations();
    ASSERT_GT(first, 0U);
    run.save();
    record();
    EXPECT_EQ(declarations(), 2 * first);
}

TEST_F(RunCheckpoints, WhatACrashLeftBehindIsNoCheckpointAndIsCleared) {
    train({3});
    fs::copy(checkpoints() / "step-00000003", checkpoints() / ".step-00000006.new");
    FakeRun again(folder.path(), plan);
    EXPECT_EQ(again.choice.step, 3);
    EXPECT_THAT(again.choice.damaged, IsEmpty());
    again.go_to(4);
    again.save();
    EXPECT_THAT(names_in(checkpoints()), ElementsAre("step-00000003", "step-00000004"));
}

TEST_F(RunCheckpoints, AsManyAsThePlanSaysRemain) {
    plan.training.keep_checkpoints = 2;
    train({3, 6, 9, 12});
    EXPECT_THAT(names_in(checkpoints()), ElementsAre("step-00000009", "step-00000012"));
}

TEST_F(RunCheckpoints, TheSameStepIsWrittenOnce) {
    {
        FakeRun run(folder.path(), plan);
        run.go_to(3);
        run.save();
        run.save();
        ASSERT_EQ(run.events(EventKind::Checkpoint).size(), 1U);
        const Event event = run.events(EventKind::Checkpoint).at(0);
        EXPECT_EQ(event.step, 3U);
        EXPECT_EQ(event.details.at("path"), "step-00000003");
        EXPECT_GT(event.details.at("bytes").get<std::int64_t>(), 8 * run.model.size);
        EXPECT_THAT(event.sentence, StartsWith("Checkpoint of step 3: "));
    }
    FakeRun again(folder.path(), plan);
    again.save();
    EXPECT_EQ(again.events(EventKind::Checkpoint).size(), 1U) << "nor is the one it was loaded from";
}

TEST_F(RunCheckpoints, EarlierOnesCanBeAskedFor) {
    train({3, 6, 9});
    FakeRun again(folder.path(), plan);
    EXPECT_EQ(again.checkpoints.choose(9).value().step, 6);
    EXPECT_EQ(again.checkpoints.choose(3).value().step, std::nullopt);
}

TEST_F(RunCheckpoints, OneThatIsPutAsideIsNeitherGoneOnFromNorCounted) {
    plan.training.keep_checkpoints = 2;
    train({3, 6, 9});
    FakeRun again(folder.path(), plan);
    ASSERT_TRUE(again.checkpoints.leave(9));
    EXPECT_THAT(names_in(checkpoints()), ElementsAre("left-step-00000009", "step-00000006"));
    EXPECT_EQ(again.checkpoints.choose().value().step, 6);

    ASSERT_TRUE(again.checkpoints.load(6));
    again.position = {6, 6 * FakeRun::batch};
    for (const std::int64_t updates : {7, 8}) {
        again.go_to(updates);
        again.save();
    }
    EXPECT_THAT(names_in(checkpoints()), ElementsAre("left-step-00000009", "step-00000007", "step-00000008"));
    ASSERT_TRUE(again.checkpoints.leave(8));
    EXPECT_THAT(names_in(checkpoints()), ElementsAre("left-step-00000008", "left-step-00000009", "step-00000007"));
}

TEST_F(RunCheckpoints, PutAsideTwiceTheLaterOneStays) {
    train({3});
    FakeRun run(folder.path(), plan);
    ASSERT_TRUE(run.checkpoints.leave(3));
    put_contents(checkpoints() / "left-step-00000003" / "old", "");
    run.go_to(4);
    run.save();
    fs::rename(checkpoints() / "step-00000004", checkpoints() / "step-00000003");
    ASSERT_TRUE(run.checkpoints.leave(3));
    EXPECT_FALSE(fs::exists(checkpoints() / "left-step-00000003" / "old"));
    EXPECT_THAT(names_in(checkpoints()), ElementsAre("left-step-00000003"));
}

TEST_F(RunCheckpoints, OneOfAnotherModelIsRefused) {
    train({3});
    Plan other = plan;
    other.model.num_layers = 3;
    TempFolder elsewhere;
    FakeRun run(elsewhere.path(), other);
    fs::copy(checkpoints(), RunLayout(elsewhere.path()).checkpoints(), fs::copy_options::recursive);
    const auto loaded = run.checkpoints.load(3);
    ASSERT_FALSE(loaded);
    EXPECT_THAT(loaded.error().message, HasSubstr("model.num_layers is"));
    EXPECT_EQ(run.model.loaded_from, "") << "nothing of it reached the model";
}

TEST_F(RunCheckpoints, OneThatCannotBeWrittenIsAnErrorAndToldNowhere) {
    put_contents(checkpoints(), "a file in the way");
    FakeRun run(folder.path(), plan);
    run.go_to(3);
    const auto refused = run.checkpoints.save(run.response.state(run.position));
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("cannot save a checkpoint in"));
    EXPECT_THAT(run.events(EventKind::Checkpoint), IsEmpty());
}

}  // namespace
}  // namespace plimsoll::engine
