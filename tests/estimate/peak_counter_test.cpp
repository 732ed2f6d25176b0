// SPDX-License-Identifier: Apache-2.0
#include "core/estimate/peak_counter.h"
#include "core/plan/checks/check_plan.h"
#include "tests/support/plans.h"

namespace plimsoll {
namespace {

/// Layouts of 16 ranks in every combination of what the estimate reads.
std::vector<Layout> layouts(const Plan& plan) {
    std::vector<Layout> all;
    for (const std::int64_t tp : {1, 2, 4})
        for (const std::int64_t pp : {1, 2, 4})
            for (const auto schedule : {Schedule::OneFOneB, Schedule::GPipe, Schedule::Interleaved, Schedule::ZbV})
                for (const std::int64_t zero : {0, 1, 2, 3})
                    for (const auto recompute : {Recompute::None, Recompute::Selective, Recompute::Full})
                        for (const bool further : {false, true}) {
                            Layout layout = plan.layout;
                            layout.tp = tp, layout.pp = pp, layout.dp = 16 / tp / pp, layout.schedule = schedule;
                            layout.sequence_parallel = further && tp > 1;
                            layout.zero_stage = zero, layout.recompute = recompute;
                            layout.accumulation = 8, layout.micro_batch = further ? 2 : 1;
                            if (further && zero >= 1) layout.offload_optimizer = Offload::Cpu;
                            layout.loss_chunks = further ? 4 : 1;
                            layout.recompute_stages = further && pp > 1 ? 1 : 0;
                            layout.compress_activations = further;
                            auto with = plan;
                            with.layout = layout;
                            if (check_plan(with).empty()) all.push_back(layout);
                        }
    return all;
}

class PeakCounterOf : public testing::TestWithParam<const char*> {};

TEST_P(PeakCounterOf, AgreesWithTheEstimateToTheByte) {
    auto plan = gpu_plan(GetParam());
    plan.cluster.gpus_per_node = 16;
    PeakCounter counter(plan);
    const auto all = layouts(plan);
    ASSERT_GT(all.size(), 50u);
    for (const auto& layout : all) {
        plan.layout = layout;
        ASSERT_EQ(counter.fullest(layout), estimated(plan).fullest().total())
            << "tp " << layout.tp << " pp " << layout.pp << " schedule " << static_cast<int>(layout.schedule)
            << " zero " << layout.zero_stage << " recompute " << static_cast<int>(layout.recompute);
    }
}

INSTANTIATE_TEST_SUITE_P(Models, PeakCounterOf, testing::Values("llama-7b", "gpt2-xl", "mixtral-8x7b"));

}  // namespace
}  // namespace plimsoll
