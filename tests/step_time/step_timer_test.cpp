// SPDX-License-Identifier: Apache-2.0
#include "core/step_time/step_timer.h"

#include <gmock/gmock.h>

#include "core/schedule/plan_pipeline/plan_pipeline.h"
#include "core/step_time/collective_time.h"
#include "tests/support/plans.h"

namespace plimsoll {
namespace {

Hardware a100(const Plan& plan) { return *hardware_of(plan.cluster, plan.numerics.dtype); }

StepTime time_of(const Plan& plan) { return StepTimer(plan, a100(plan)).time(plan.layout); }

TEST(StepTimer, ZeroStagesSendWhatRajbhandariSays) {
    const auto data = [](int stage, int accumulation) {
        auto plan = gpu_plan("llama-7b", {"layout.dp=8", fmt::format("layout.zero_stage={}", stage),
                                          fmt::format("layout.accumulation={}", accumulation)});
        plan.training.bucket_mib = 100'000;
        auto h = a100(plan);
        h.efficiency.gradient_overlap = 0;
        h.efficiency.node_hop = 0;
        return StepTimer(plan, h).time(plan.layout).of(TimePart::Data);
    };
    const double half = 7.0 / 8 * 2 * 6'738'415'616.0 / (300e9 * 0.9);
    EXPECT_NEAR(data(0, 1), 2 * half, 1e-6);
    EXPECT_NEAR(data(1, 1), 2 * half, 1e-6);
    EXPECT_NEAR(data(2, 1), 2 * half, 1e-6);
    EXPECT_NEAR(data(3, 1), 3 * half, 1e-6);
    EXPECT_NEAR(data(0, 4), 2 * half, 1e-6);
    EXPECT_NEAR(data(2, 4), 5 * half, 1e-6);
    EXPECT_NEAR(data(3, 4), 12 * half, 1e-6);
}

TEST(StepTimer, GradientsHideBehindTheLastBackward) {
    auto plan = gpu_plan("llama-7b", {"layout.dp=8", "layout.zero_stage=0", "layout.micro_batch=4"});
    auto h = a100(plan);
    h.efficiency.gradient_overlap = 0;
    const Seconds all = StepTimer(plan, h).time(plan.layout).of(TimePart::Data);
    h.efficiency.gradient_overlap = 1;
    EXPECT_EQ(StepTimer(plan, h).time(plan.layout).of(TimePart::Data), 0) << "a backward of seconds";
    h.efficiency.gradient_overlap = 0.8;
    EXPECT_NEAR(StepTimer(plan, h).time(plan.layout).of(TimePart::Data), 0.2 * all, 1e-12);
}

TEST(StepTimer, FullRecomputationCostsAForward) {
    const auto none = time_of(gpu_plan("llama-7b", {"layout.accumulation=16"}));
    const auto full = time_of(gpu_plan("llama-7b", {"layout.accumulation=16", "layout.recompute=full"}));
    const auto some =
        time_of(gpu_plan("llama-7b", {"layout.accumulation=16", "layout.recompute=full", "layout.recompute_every=4"}));
    EXPECT_EQ(none.of(TimePart::Recompute), 0);
    EXPECT_NEAR(full.total() / none.total(), 1.31, 0.04);
    EXPECT_NEAR(some.of(TimePart::Recompute), full.of(TimePart::Recompute) / 4, 1e-9);
}

TEST(StepTimer, OffloadGoesOverPcieAndTheHost) {
    const auto plan = gpu_plan("llama-7b", {"layout.dp=8", "layout.zero_stage=2", "layout.offload_optimizer=cpu"});
    const auto time = time_of(plan);
    const double own = 6'738'415'616.0 / 8;
    EXPECT_NEAR(time.of(TimePart::Host), own * 6 / (32e9 * 0.8) + own * 8 / 4e9, 1e-6);
    EXPECT_EQ(time.of(TimePart::Update), 0);
}

TEST(StepTimer, KeptValuesAreThoseOfAFreshTimer) {
    const auto plan = gpu_plan("gpt2-xl");
    StepTimer timer(plan, a100(plan));
    std::vector<Layout> layouts;
    for (const int tp : {1, 5})
        for (const int pp : {1, 2, 4})
            for (const auto schedule : {Schedule::OneFOneB, Schedule::ZbV, Schedule::Interleaved})
                for (const auto recompute : {Recompute::None, Recompute::Selective, Recompute::Full})
                    for (const int batch : {1, 2}) {
                        Layout l = plan.layout;
                        l.tp = tp, l.pp = pp, l.schedule = schedule, l.recompute = recompute, l.micro_batch = batch;
                        l.accumulation = 8, l.chunks = 3, l.sequence_parallel = tp > 1;
                        layouts.push_back(l);
                    }
    for (int round = 0; round < 2; ++round)
        for (const auto& layout : layouts) {
            const auto kept = timer.time(layout).parts, fresh = StepTimer(plan, a100(plan)).time(layout).parts;
            ASSERT_EQ(kept, fresh);
            ASSERT_LE(timer.at_least(layout), timer.time(layout).total());
        }
}

TEST(StepReport, SimulatedPipelinesAreNearTheClosedForm) {
    for (const auto* schedule : {"1f1b", "interleaved-1f1b", "zb-h1", "zb-v"}) {
        auto plan = gpu_plan("llama-65b", {"layout.tp=8", "layout.pp=8", "layout.dp=1", "layout.accumulation=64",
                                           fmt::format("layout.schedule={}", schedule), "layout.chunks=2"});
        plan.cluster.gpus_per_node = plan.cluster.nodes = 8;
        const auto closed = step_time(plan, a100(plan), false), simulated = step_time(plan, a100(plan), true);
        ASSERT_TRUE(closed && simulated);
        EXPECT_NEAR(closed->step / simulated->step, 1, 0.03) << schedule;
    }
}

TEST(StepReport, MfuIsPalms) {
    const auto plan = gpu_plan("llama-7b");
    const auto report = step_time(plan, a100(plan));
    ASSERT_TRUE(report);
    const double matrices = 6'738'415'616.0 - 32000.0 * 4096, tokens = 2048;
    const double flops = 6 * matrices * tokens + 12.0 * 32 * 4096 * tokens * tokens;
    EXPECT_NEAR(report->mfu, flops / report->step / 312e12, 1e-3);
    EXPECT_EQ(report->mfu, report->hfu);
    EXPECT_NEAR(report->time.total(), report->step, 1e-12);
    EXPECT_NEAR(report->tokens_per_second, 2048 / report->step, 1e-6);
    const auto budget = budget_of(*report, 8, 1e9, 2.5);
    EXPECT_NEAR(budget.gpu_hours, 1e9 / report->tokens_per_second * 8 / 3600, 1e-6);
    EXPECT_NEAR(budget.price, 2.5 * budget.gpu_hours, 1e-6);
}

TEST(StepReport, WeightsBesideAdaptersHaveNoGradients) {
    // So many tokens that the update is little of it.
    const Plan all = gpu_plan("llama-7b", {"layout.accumulation=32"});
    Plan adapters = all;
    adapters.adapter.rank = 8;
    const double matrices = 6'738'415'616.0 - 32000.0 * 4096, tokens = 2048;
    EXPECT_NEAR(step_flops(adapters).model / 32 /
                    (4 * matrices * tokens + 12.0 * 32 * 4096 * tokens * tokens + 6 * 19'988'480 * tokens),
                1, 1e-3);
    const auto plain = step_time(all, a100(all)), thin = step_time(adapters, a100(adapters));
    ASSERT_TRUE(plain && thin);
    // A third of the products is gone; the thin ones and the update of few numbers stay.
    EXPECT_GT(thin->step / plain->step, 0.6);
    EXPECT_LT(thin->step / plain->step, 0.85);
}

}  // namespace
}  // namespace plimsoll
