// SPDX-License-Identifier: Apache-2.0
// plimsoll doctor on plans and runs.
#include "core/base/json.h"
#include "core/plan/checks/check_plan.h"
#include "core/plan/plan_io.h"
#include "core/plan/settings.h"
#include "core/plan/starting_plan.h"
#include "core/run/run_folder.h"
#include "tests/support/program.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

class DoctorTest : public CliTest {
protected:
    void SetUp() override {
        CliTest::SetUp();
        ::setenv("PLIMSOLL_CALIBRATION", (folder / "none").c_str(), 1);
    }

    /// A plan file with the settings over a preset.
    std::string plan_file(const std::string& preset, const std::vector<std::string>& settings) {
        const auto plan = with_settings(plan_from_argument(preset)->plan, settings);
        EXPECT_TRUE(plan) << plan.error().message;
        EXPECT_TRUE(save_plan(folder / "plan.json", *plan));
        return path("plan.json");
    }
};

TEST_F(DoctorTest, APlanThatDoesNotFitIsExitCodeOneWithItsCures) {
    const Output output = plimsoll({"doctor", plan_file("llama-7b-4xa100", {"layout.zero_stage=0"})});
    EXPECT_EQ(output.code, 1) << output.err;
    EXPECT_THAT(output.out, HasSubstr("The fullest rank needs"));
    EXPECT_THAT(output.out, HasSubstr("> layout.zero_stage="));
    EXPECT_THAT(output.out, HasSubstr("Numbers\n"));
    EXPECT_THAT(output.out, HasSubstr("could not be judged"));
}

TEST_F(DoctorTest, AdviceAloneIsExitCodeZero) {
    const Json json = json_of(plimsoll({"doctor", "cpu-demo", "--json"}));
    EXPECT_EQ(json["healthy"], true);
    EXPECT_EQ(json["plan"], "cpu-demo");
    EXPECT_GT(json["checklist"].size(), 40U);
}

TEST_F(DoctorTest, ApplyWritesANewPlanAndNeverOverAnother) {
    const std::string sick = plan_file("llama-7b-4xa100", {"layout.zero_stage=0", "optimizer.clip=0"});
    const Output output = plimsoll({"doctor", sick, "--apply", path("better.json")});
    EXPECT_EQ(output.code, 1) << output.err;
    EXPECT_THAT(output.out, HasSubstr("optimizer.clip=1"));
    const auto better = load_plan(folder / "better.json");
    ASSERT_TRUE(better) << better.error().message;
    EXPECT_TRUE(check_plan(better->plan).empty());
    EXPECT_EQ(better->plan.optimizer.clip, 1);
    EXPECT_NE(better->plan.layout, load_plan(sick)->plan.layout);
    const auto json = parse_json(plimsoll({"doctor", sick, "--json", "--apply", path("again.json")}).out, "output");
    ASSERT_TRUE(json) << json.error().message;
    EXPECT_THAT((*json)["applied"]["settings"].dump(), HasSubstr("optimizer.clip=1"));
    EXPECT_EQ(contents_of(folder / "again.json"), contents_of(folder / "better.json"));
    // A plan with nothing but fine lines has nothing to write.
    const Output sound = plimsoll({"doctor", "cpu-demo", "--apply", path("none.json")});
    EXPECT_EQ(sound.code, 0) << "nothing to do is no bad input";
    EXPECT_THAT(sound.out, HasSubstr("no finding has a change to apply"));
    EXPECT_FALSE(std::filesystem::exists(path("none.json")));
    EXPECT_FALSE(std::filesystem::exists(folder / "none.json"));
    const std::string before = contents_of(folder / "better.json");
    expect_refused({"doctor", sick, "--apply", path("better.json")}, "is there already");
    EXPECT_EQ(contents_of(folder / "better.json"), before);
}

TEST_F(DoctorTest, ARunIsFoundByItsFolder) {
    use_fake_worker();
    ::setenv("FAKE_RANK_0", "train", 1);
    ::setenv("FAKE_RANK_1", "exit 1 plimsoll-worker: rank 1: the reactor is on fire", 1);
    ASSERT_EQ(plimsoll({"train", "--data", path("corpus.txt"), "--run", path("run")}).code, 1);
    const Output output = plimsoll({"doctor", path("run"), "--json"});
    EXPECT_EQ(output.code, 1) << output.err;
    const auto json = parse_json(output.out, "output");
    ASSERT_TRUE(json) << json.error().message;
    EXPECT_EQ((*json)["findings"][0]["kind"], "failed");
    EXPECT_THAT((*json)["findings"][0]["evidence"][0].get<std::string>(), HasSubstr("the reactor is on fire"));
}

TEST_F(DoctorTest, BadInputIsOneSentence) {
    expect_refused({"doctor", "no-such-thing"}, "neither a run");
    expect_refused({"doctor", path("nowhere/plan.json")}, "neither a run");
    put_contents(folder / "broken.json", "{");
    expect_refused({"doctor", path("broken.json")}, "broken.json");
    std::filesystem::create_directories(folder / "empty");
    expect_refused({"doctor", path("empty")}, "no run folder");
    expect_refused({"doctor"}, "run");
    expect_refused({"doctor", "cpu-demo", "--apply", ""}, "--apply is empty");
}

}  // namespace
}  // namespace plimsoll
