// SPDX-License-Identifier: Apache-2.0
#include "core/step_time/fit.h"

#include <gmock/gmock.h>

#include "core/step_time/step_timer.h"
#include "tests/support/plans.h"

namespace plimsoll {
namespace {

std::vector<Plan> plans() {
    std::vector<Plan> all;
    for (const auto& settings : std::vector<std::vector<std::string>>{
             {"layout.micro_batch=1"},
             {"layout.micro_batch=8"},
             {"layout.micro_batch=8", "data.sequence_length=512"},
             {"layout.micro_batch=2", "model.num_layers=4"},
             {"layout.micro_batch=1", "layout.accumulation=8"},
             {"layout.micro_batch=4", "layout.dp=2"},
             {"layout.micro_batch=4", "layout.tp=2"},
         })
        all.push_back(gpu_plan("gpt2", settings));
    return all;
}

TEST(Fit, FindsTheRatesOfAnotherMachine) {
    const auto start = *hardware_of(plans().front().cluster, Dtype::Bf16);
    auto other = start;
    other.peak *= 0.3, other.memory *= 0.6, other.efficiency.host_kernel *= 2.5, other.efficiency.step *= 8;
    other.node_link *= 0.2;
    std::vector<MeasuredStep> measured;
    for (const auto& plan : plans()) measured.push_back({plan, StepTimer(plan, other).time(plan.layout).total()});
    const auto fit = fit_hardware(start, measured);
    ASSERT_TRUE(fit) << fit.error().message;
    EXPECT_GT(fit->error_before, 0.2);
    EXPECT_LT(fit->error_after, 0.02);
    // A plan that was not among them.
    const auto unseen = gpu_plan("gpt2-medium", {"layout.micro_batch=4", "layout.dp=2"});
    const Seconds truth = StepTimer(unseen, other).time(unseen.layout).total();
    EXPECT_NEAR(StepTimer(unseen, fit->hardware).time(unseen.layout).total() / truth, 1, 0.06);
}

TEST(Fit, NeedsMeasurements) {
    const auto start = *hardware_of(plans().front().cluster, Dtype::Bf16);
    EXPECT_THAT(fit_hardware(start, {{plans()[0], 1}, {plans()[1], 1}}).error().message, testing::HasSubstr("three"));
    EXPECT_FALSE(fit_hardware(start, {{plans()[0], 1}, {plans()[1], 0}, {plans()[2], 1}}));
}

}  // namespace
}  // namespace plimsoll
