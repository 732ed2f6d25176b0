// SPDX-License-Identifier: Apache-2.0
// The whole way: two real LibTorch workers train a few steps under `plimsoll train`, and `watch` reads them back.
#include <algorithm>
#include <cmath>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/run/run_folder.h"
#include "tests/support/program.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

class EngineTest : public CliTest {
protected:
    std::vector<std::string> train(const std::vector<std::string>& more) {
        std::vector<std::string> arguments{"train",
                                           "cpu-demo",
                                           "--data",
                                           path("corpus.txt"),
                                           "--run",
                                           path("run"),
                                           "--set",
                                           "data.sequence_length=32",
                                           "layout.micro_batch=2",
                                           "training.sample_every=0"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return arguments;
    }
};

TEST_F(EngineTest, FiveStepsOnTwoRanksThenResumeToEight) {
    const Output output = plimsoll(train({"--steps", "5"}));
    ASSERT_EQ(output.code, 0) << output.out << output.err << contents_of(folder / "run/logs/rank-0.log");
    EXPECT_THAT(output.out, HasSubstr("finished in "));

    const Json json =
        json_of(plimsoll({"watch", path("run"), "--json", "loss", "memory@1", "step_time", "step_time@1"}));
    EXPECT_EQ(json["status"], "finished");
    const Json& loss = json["series"]["loss"];
    ASSERT_EQ(loss.size(), 5U);
    for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(loss[i][0], i + 1);
    // A fresh model gives each of 256 bytes about the same chance: ln 256 = 5.545.
    EXPECT_NEAR(loss[0][1].get<double>(), std::log(256.0), 0.067);
    EXPECT_LT(loss[4][1].get<double>(), loss[0][1].get<double>());
    EXPECT_EQ(json["series"]["step_time"].size(), 5U);
    EXPECT_EQ(json["series"]["step_time@1"].size(), 5U);
    EXPECT_GT(json["series"]["memory@1"][4][1].get<double>(), 1e6);
    EXPECT_TRUE(std::filesystem::exists(folder / "run/checkpoints/step-00000005/model.safetensors"));

    const Output more = plimsoll({"train", "--resume", "--run", path("run"), "--steps", "8"});
    ASSERT_EQ(more.code, 0) << more.err << contents_of(folder / "run/logs/rank-0.log");
    const Json resumed = json_of(plimsoll({"watch", path("run"), "--json", "loss"}));
    ASSERT_EQ(resumed["series"]["loss"].size(), 8U);
    for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(resumed["series"]["loss"][i], loss[i]);
}

TEST_F(EngineTest, ARunGoesOnUnderAnotherLayoutWithTheSameTextElsewhere) {
    ASSERT_EQ(plimsoll(train({"lr.warmup_steps=2", "--steps", "6"})).code, 0);
    const std::string before = contents_of(folder / "run/plan.json");
    const std::vector<std::string> resume{"train", "--resume", "--run", path("run")};
    const auto with = [&](std::vector<std::string> more) {
        more.insert(more.begin(), resume.begin(), resume.end());
        return more;
    };
    expect_refused(with({"--steps", "5"}), "has done 6 steps already, more than the 5 that are asked for");
    expect_refused(with({"--steps", "12"}), "--extend constant");
    put_contents(folder / "other.txt", std::string(40'000, 'x'));
    expect_refused(with({"--data", path("other.txt"), "--steps", "6"}), "is not the text that the run was trained on");
    EXPECT_EQ(contents_of(folder / "run/plan.json"), before);

    // Finished already: nothing is trained, and the last loss is what it was.
    const Output finished = plimsoll(resume);
    EXPECT_EQ(finished.code, 0) << finished.err;
    EXPECT_THAT(finished.out, HasSubstr("Finished 6 steps; the last loss was "));
    EXPECT_THAT(finished.out, ::testing::Not(HasSubstr("the last loss was 0.000")));

    std::filesystem::rename(folder / "corpus.txt", folder / "moved.txt");
    const Output one =
        plimsoll(with({"--data", path("moved.txt"), "--ranks", "1", "--steps", "12", "--extend", "constant"}));
    ASSERT_EQ(one.code, 0) << one.err << contents_of(folder / "run/logs/rank-0.log");
    EXPECT_THAT(one.out, HasSubstr("memory on the fullest rank: "));
    const Json recorded = json_of(plimsoll({"watch", path("run"), "--json", "lr"}));
    ASSERT_EQ(recorded["series"]["lr"].size(), 12U);
    for (std::size_t step = 6; step < 12; ++step)
        EXPECT_DOUBLE_EQ(recorded["series"]["lr"][step][1].get<double>(), recorded["series"]["lr"][5][1].get<double>());

    // No whole checkpoint is no fresh start.
    for (const auto& entry : std::filesystem::directory_iterator(folder / "run/checkpoints"))
        put_contents(entry.path() / "model.safetensors", "torn");
    expect_refused(resume, "is whole (step-00000012: ");
    const Output again = plimsoll(with({"--from-scratch"}));
    EXPECT_EQ(again.code, 0) << again.err;
    EXPECT_TRUE(std::filesystem::exists(folder / "run/checkpoints.1/step-00000012/optimizer.safetensors"));
    EXPECT_TRUE(std::filesystem::exists(folder / "run/checkpoints/step-00000012/model.safetensors"));
}

TEST_F(EngineTest, AdaptersTrainResumeAndLeaveInPeftsFiles) {
    const std::vector<std::string> adapters{"adapter.rank=4", "adapter.targets=q_proj,down_proj", "lr.kind=constant",
                                            "lr.warmup_steps=0"};
    const auto with_adapters = [&](std::vector<std::string> more) {
        auto arguments = train(adapters);
        arguments.insert(arguments.end(), more.begin(), more.end());
        return arguments;
    };
    ASSERT_EQ(plimsoll(with_adapters({"--steps", "6"})).code, 0);
    const Json whole = json_of(plimsoll({"watch", path("run"), "--json", "loss"}))["series"]["loss"];
    const std::string weights = contents_of(folder / "run/checkpoints/step-00000006/adapter_model.safetensors");
    EXPECT_FALSE(std::filesystem::exists(folder / "run/checkpoints/step-00000006/model.safetensors"));

    // The same in two parts: the weights that do not train come by the seed again.
    std::filesystem::rename(folder / "run", folder / "first");
    ASSERT_EQ(plimsoll(with_adapters({"training.checkpoint_every=3", "--steps", "6"})).code, 0);
    std::filesystem::remove_all(folder / "run/checkpoints/step-00000006");
    const Output resumed = plimsoll({"train", "--resume", "--run", path("run"), "--steps", "7"});
    ASSERT_EQ(resumed.code, 0) << resumed.err;
    const Json parts = json_of(plimsoll({"watch", path("run"), "--json", "loss"}))["series"]["loss"];
    for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(parts[i], whole[i]);

    // Out: the adapters as they are, and added to the model.
    const Output exported = plimsoll({"export", "peft", path("first"), "--out", path("adapter")});
    ASSERT_EQ(exported.code, 0) << exported.err;
    EXPECT_EQ(contents_of(folder / "adapter/adapter_model.safetensors"), weights);
    EXPECT_EQ(json_of(Output{0, contents_of(folder / "adapter/adapter_config.json"), ""})["target_modules"],
              Json({"q_proj", "down_proj"}));
    ASSERT_EQ(plimsoll({"export", "hf", path("first"), "--out", path("merged")}).code, 0);
    expect_refused({"export", "peft", path("first"), "--out", path("adapter")}, "is there already");

    // In: an adapter on a model, which the merged one may be; what is merged again begins where they are.
    expect_refused({"import", "peft", path("adapter"), "-o", path("plan.json")}, "name the model's folder with --base");
    const Output imported =
        plimsoll({"import", "peft", path("adapter"), "--base", path("merged"), "-o", path("plan.json")});
    ASSERT_EQ(imported.code, 0) << imported.err;
    const Json plan = json_of(Output{0, contents_of(folder / "plan.json"), ""});
    EXPECT_EQ(plan["adapter"]["rank"], 4);
    EXPECT_EQ(plan["adapter"]["targets"], "down_proj,q_proj");
    EXPECT_EQ(plan["model"]["weights"], path("merged"));
    const Output merged =
        plimsoll({"import", "peft", path("adapter"), "--base", path("merged"), "--merge", path("twice")});
    ASSERT_EQ(merged.code, 0) << merged.err;
    EXPECT_EQ(contents_of(folder / "twice/model.safetensors").size(),
              contents_of(folder / "merged/model.safetensors").size());
    EXPECT_NE(contents_of(folder / "twice/model.safetensors"), contents_of(folder / "merged/model.safetensors"));
    expect_refused({"import", "peft", path("adapter"), "--base", path("merged"), "--merge", path("twice")},
                   "it is there");

    // Another rank than the adapter's is refused before anything trains.
    expect_refused({"train", path("plan.json"), "--run", path("other"), "--set", "adapter.rank=8"},
                   "is 4; set it to that");
}

TEST_F(EngineTest, WeightsStartARunOfTheirModelAndTheirKeysComeBack) {
    ASSERT_EQ(plimsoll(train({"training.checkpoint_every=0", "--steps", "1"})).code, 0);
    ASSERT_EQ(plimsoll({"export", "hf", path("run"), "--out", path("base")}).code, 0);
    Json config = *read_json(folder / "base/config.json");
    config["eos_token_id"] = {7, 8};
    config["my_tools_key"] = "mine";
    ASSERT_TRUE(write_json(folder / "base/config.json", config));
    const auto tuned = [&](const std::vector<std::string>& more) {
        std::vector<std::string> arguments =
            train({"model.weights=" + path("base"), "lr.warmup_steps=0", "training.steps=1"});
        std::replace(arguments.begin(), arguments.end(), path("run"), path("tuned"));
        arguments.insert(arguments.end(), more.begin(), more.end());
        return arguments;
    };
    const Output output = plimsoll(tuned({}));
    ASSERT_EQ(output.code, 0) << output.err;
    EXPECT_THAT(output.err, HasSubstr("my_tools_key is \"mine\", a key that is not known"));
    ASSERT_EQ(plimsoll({"export", "hf", path("tuned"), "--out", path("again")}).code, 0);
    EXPECT_EQ(*read_json(folder / "again/config.json"), config);

    // Another model, of the same shapes: refused with the settings that take it, which do.
    std::filesystem::remove_all(folder / "tuned");
    config["rope_theta"] = config["rope_parameters"]["rope_theta"] = 500000.0;
    ASSERT_TRUE(write_json(folder / "base/config.json", config));
    expect_refused(tuned({}), "--set model.rope_theta=500000.0");
    EXPECT_FALSE(std::filesystem::exists(folder / "tuned"));
    EXPECT_EQ(plimsoll(tuned({"--set", "model.rope_theta=500000.0"})).code, 0);
    config["rope_parameters"]["rope_type"] = "llama3";
    config["rope_parameters"]["factor"] = 32.0;
    ASSERT_TRUE(write_json(folder / "base/config.json", config));
    expect_refused(tuned({"--set", "model.rope_theta=500000.0"}), "rope_parameters is of type llama3 with factor 32.0");
}

TEST_F(EngineTest, StopOfADetachedRunOfShortStepsTakesTwoSecondsAtMostAndLeavesACheckpoint) {
    ASSERT_EQ(plimsoll(train({"--steps", "100000", "--detach"})).code, 0);
    const RunFolder run(folder / "run");
    bool learning = false;
    for (int i = 0; i < 1200 && !learning; ++i) {
        ::usleep(50'000);
        const auto json = parse_json(plimsoll({"watch", path("run"), "--json", "loss"}).out, "watch");
        learning = json && json->contains("series") && (*json)["series"]["loss"].size() >= 2;
    }
    ASSERT_TRUE(learning) << contents_of(run.log_path(0)) << contents_of(run.log_path(-1));
    const double asked = wall_clock();
    const Output stopped = plimsoll({"stop", path("run")});
    EXPECT_EQ(stopped.code, 0) << stopped.err;
    const auto state = run.state();
    EXPECT_LT(state->ended - asked, 2.0);
    EXPECT_EQ(state->status, RunStatus::Stopped) << state->reason;
    EXPECT_FALSE(std::filesystem::is_empty(run.checkpoints())) << state->reason;
}

}  // namespace
}  // namespace plimsoll
