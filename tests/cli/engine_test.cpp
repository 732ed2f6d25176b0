// SPDX-License-Identifier: Apache-2.0
// The whole way: two real LibTorch workers train a few steps under `plimsoll train`, and `watch` reads them back.
#include <cmath>

#include "core/run/clock.h"
#include "core/run/run_folder.h"
#include "tests/cli/program.h"

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
    EXPECT_NEAR(loss[0][1].get<double>(), std::log(256.0), 0.5);
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

TEST_F(EngineTest, StopOfADetachedRunTakesTwoSecondsAtMostAndLeavesACheckpoint) {
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
