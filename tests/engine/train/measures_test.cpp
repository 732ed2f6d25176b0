// SPDX-License-Identifier: Apache-2.0
// What runs of two ranks measure in passing: the noise scale, and the rates of a range test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/run_harness.h"

namespace plimsoll::testing {
namespace {

using ::testing::HasSubstr;

class Measured : public ::testing::Test {
protected:
    Measured() : corpus_(write_corpus(folder_.path())) {}

    Plan plan(std::int64_t steps) const {
        Plan plan = small_plan("llama-tiny", corpus_);
        plan.layout.dp = plan.cluster.gpus_per_node = 2;
        plan.layout.micro_batch = 4;
        plan.training.steps = steps;
        return plan;
    }
    SeriesStore finish(const Plan& plan) {
        const std::filesystem::path run = folder_.path() / "run";
        write_plan(run, plan);
        Ranks ranks(run, static_cast<int>(plan.layout.world_size()));
        for (const int code : ranks.wait()) EXPECT_EQ(code, 0) << ranks.rank(0).last_line();
        return recorded(run, static_cast<int>(plan.layout.world_size()));
    }
    static Event only(const SeriesStore& store, EventKind kind) {
        const auto events = events_of(store, kind);
        EXPECT_EQ(events.size(), 1U) << name_of(kind);
        return events.empty() ? Event() : events.front();
    }

    TemporaryFolder folder_;
    std::filesystem::path corpus_;
};

TEST_F(Measured, TheNoiseScaleSaysWhetherABiggerBatchPays) {
    Plan measured = plan(40);
    measured.training.noise_scale_every = 2;
    const SeriesStore store = finish(measured);
    const Event event = only(store, EventKind::NoiseScale);
    EXPECT_EQ(event.details.at("measurements"), 20);
    EXPECT_EQ(event.details.at("batch_tokens"), 8 * measured.data.sequence_length);
    EXPECT_GT(event.details.at("noise_scale").get<double>(), 0);
    EXPECT_THAT(event.sentence, HasSubstr("a batch twice as large would take"));
    EXPECT_FALSE(values(store, series::noise_scale).empty());
    EXPECT_EQ(values(store, series::noise_scale).back(), event.details.at("noise_scale").get<double>());
}

TEST_F(Measured, MeasuringChangesNoBitOfTheTraining) {
    Plan plain = plan(12);
    const auto usual = values(finish(plain), series::loss);
    std::filesystem::remove_all(folder_.path() / "run");
    plain.training.noise_scale_every = 1;
    EXPECT_EQ(values(finish(plain), series::loss), usual);
}

TEST_F(Measured, ARangeTestTellsThePeakAndEndsWhereTheLossDiverges) {
    Plan tested = plan(120);
    tested.lr.kind = LrKind::RangeTest;
    tested.lr.warmup_steps = 0;
    tested.optimizer.kind = OptimizerKind::Sgd;
    tested.optimizer.momentum = 0.9;
    tested.optimizer.clip = 0;
    tested.optimizer.lr = 1000;
    tested.lr.warmup_start_ratio = 1e-7;
    const SeriesStore store = finish(tested);
    const Event event = only(store, EventKind::RangeTest);
    const double suggestion = event.details.at("suggestion").get<double>();
    EXPECT_LT(values(store, series::loss).size(), 120U) << "it ends where it diverges";
    EXPECT_TRUE(event.details.contains("diverged"));
    EXPECT_LT(suggestion, event.details.at("diverged").get<double>());
    EXPECT_LE(suggestion, event.details.at("lowest").get<double>() / 10);
    EXPECT_THAT(event.sentence, HasSubstr("as the peak"));
}

}  // namespace
}  // namespace plimsoll::testing
