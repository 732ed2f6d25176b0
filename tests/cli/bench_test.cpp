// SPDX-License-Identifier: Apache-2.0
// plimsoll bench: its arithmetic, what it refuses, and that nothing is left of a run that fails or is stopped. That
// real runs give figures is tested by bench_engine_test.cpp.
#include <signal.h>

#include "app/cli/bench/bench_report.h"
#include "core/plan/checks/check_plan.h"
#include "core/plan/plan_io.h"
#include "core/plan/settings.h"
#include "core/plan/starting_plan.h"
#include "tests/support/program.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

class BenchTest : public CliTest {
protected:
    void SetUp() override {
        CliTest::SetUp();
        use_fake_worker();
        std::filesystem::create_directory(folder / "tmp");
        ::setenv("TMPDIR", (folder / "tmp").c_str(), 1);
    }
    void TearDown() override {
        EXPECT_TRUE(std::filesystem::is_empty(folder / "tmp"));
        ::unsetenv("TMPDIR");
    }
    std::vector<std::string> bench(const std::vector<std::string>& more) {
        std::vector<std::string> arguments{"bench", "train"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        arguments.insert(arguments.end(), {"--set", "data.path=" + path("corpus.txt")});
        return arguments;
    }
};

TEST_F(BenchTest, BadInputIsNamedBeforeAnythingRuns) {
    expect_refused(bench({"--steps", "1"}), "--steps is 1");
    expect_refused(bench({"--rounds", "0"}), "--rounds is 0");
    expect_refused(bench({"--variant", "layot.dp=1"}), "did you mean \"layout.dp\"?");
    expect_refused(bench({"--variant", "layout.dp=1", "--variant", "layout.dp=5 layout.ep=2"}), "layout.ep=2\": ");
    expect_refused(bench({"--variant", "layout.dp=0"}), "layout.dp=0");
    expect_refused(bench({"--variant", ""}), "--variant is empty");
    expect_refused(bench({"--set", "recomputing"}), "recomputing");
    expect_refused({"bench"}, "train, buckets, depth, optimizers or --calibrate");
    expect_refused({"bench", "buckets", "--set", "layout.dp=1", "cluster.gpus_per_node=1"}, "layout.dp is 1");
    ::setenv("PLIMSOLL_WORKER", path("none").c_str(), 1);
    expect_refused(bench({}), "this build has no engine");
}

TEST_F(BenchTest, FailedRunIsNamedWithItsVariant) {
    ::setenv("FAKE_RANKS", "exit 3 no memory left", 1);
    const Output output = plimsoll(bench({"--variant", "layout.dp=1"}));
    EXPECT_EQ(output.code, 1);
    EXPECT_EQ(output.out, "");
    EXPECT_THAT(output.err, HasSubstr("variant \"cpu-demo\": "));
    EXPECT_THAT(output.err, HasSubstr("no memory left"));
}

TEST_F(BenchTest, InterruptEndsTheRunAndLeavesNothing) {
    ::setenv("FAKE_RANKS", "train", 1);
    Process process = start(bench({}));
    for (int i = 0; i < 1000 && !std::filesystem::exists(folder / "store"); ++i) ::usleep(10'000);
    EXPECT_FALSE(std::filesystem::is_empty(folder / "tmp"));
    ::kill(process.pid(), SIGINT);
    const Output output = ended(process);
    EXPECT_EQ(output.code, 1);
    EXPECT_THAT(output.err, HasSubstr("stopped; nothing of the runs is kept"));
}

TEST_F(BenchTest, VariantKeepsTheGlobalBatchAndBringsItsRanks) {
    const Plan base = plan_from_argument("cpu-demo")->plan;
    const auto variant = cli::make_variant(base, "one", " layout.dp=1  layout.tp=4 ");
    ASSERT_TRUE(variant) << variant.error().message;
    EXPECT_EQ(variant->plan.layout.global_batch(), base.layout.global_batch());
    EXPECT_EQ(variant->plan.cluster.world_size(), 4);
    const auto given = cli::make_variant(base, "more", "layout.accumulation=3 cluster.gpus_per_node=2");
    EXPECT_EQ(given->plan.layout.global_batch(), 3 * base.layout.global_batch());
    EXPECT_EQ(given->plan.cluster.world_size(), 2);
}

TEST_F(BenchTest, SetsArePossiblePlansOfOneJob) {
    for (const std::string& set : cli::bench_sets) {
        const auto base = with_settings(plan_from_argument("cpu-demo")->plan, cli::settings_of_set(set));
        ASSERT_TRUE(base) << base.error().message;
        const auto variants = cli::variants_of_set(set, *base);
        ASSERT_TRUE(variants) << variants.error().message;
        EXPECT_GE(variants->size(), 2U);
        for (const cli::Variant& variant : *variants) {
            EXPECT_TRUE(require_possible(variant.plan)) << set << ": " << variant.name;
            EXPECT_EQ(variant.plan.layout.global_batch(), base->layout.global_batch()) << variant.name;
        }
    }
}

TEST_F(BenchTest, RatiosCompareNeighboursInTime) {
    // The machine is half as fast in the second round; the variant takes a quarter more time in each.
    std::vector<cli::Measured> all(2);
    all[0].round_rates = {1000, 500, 1000};
    all[1].round_rates = {800, 400, 800};
    EXPECT_DOUBLE_EQ(cli::ratio_to_first(all, 0), 1);
    EXPECT_DOUBLE_EQ(cli::ratio_to_first(all, 1), 0.8);
    EXPECT_DOUBLE_EQ(cli::quantile({4, 1, 3, 2}, 0.5), 2.5);
    EXPECT_DOUBLE_EQ(cli::quantile({4, 1, 3, 2}, 1), 4);
    all[0].step_rates = {90, 100, 110};
    EXPECT_DOUBLE_EQ(cli::spread_of(all[0]), 0.05);

    for (auto& measured : all) {
        measured.peak = {300, 500};
        measured.resting = {100, 100};
        measured.step_rates = {1, 1};
        measured.estimate = 550;
    }
    all[1].peak = {200, 150};
    Plan plan;
    const std::vector<cli::Variant> variants{{"all kept", plan}, {"less", plan}};
    const std::string table = cli::bench_table(variants, all);
    EXPECT_THAT(table, HasSubstr("+25.0 %"));  // time
    EXPECT_THAT(table, HasSubstr("75.0 %"));   // 400 B a step, then 100 B
    EXPECT_THAT(table, HasSubstr("+10.0 %"));  // the estimate of 550 B against 500 B
    EXPECT_EQ(cli::bench_json(variants, all)["rows"][1]["step_bytes"], 100);
}

TEST_F(BenchTest, AdviceDoesNotTakeNoiseForGain) {
    auto variants = cli::bucket_variants(plan_from_argument("cpu-demo")->plan).value();
    ASSERT_EQ(variants.size(), 4U);
    std::vector<cli::Measured> all(4);
    for (auto& measured : all) {
        measured.round_rates = {100};
        measured.step_rates = {99, 100, 101};
    }
    all[1].round_rates = {120};
    EXPECT_THAT(cli::bucket_advice(variants, all), HasSubstr("fastest: --set training.bucket_mib=25 (+20.0 %"));
    all[1].round_rates = {100.1};
    EXPECT_THAT(cli::bucket_advice(variants, all), HasSubstr("within the spread"));
}

}  // namespace
}  // namespace plimsoll
