// SPDX-License-Identifier: Apache-2.0
// The bubble rates that "Zero Bubble Pipeline Parallelism" (Qi et al. 2024) gives for measured times, to its last
// digit.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "core/schedule/generators/make_schedule.h"
#include "core/schedule/simulate.h"
#include "core/validation/bubble_cases.h"
#include "core/validation/bubble_rates.h"

namespace plimsoll {
namespace {

std::vector<BubbleCase> published() {
    std::ifstream file(PLIMSOLL_SOURCE_DIR "/resources/validation/zero-bubble-rates.csv");
    std::stringstream text;
    text << file.rdbuf();
    const auto cases = read_bubble_cases(text.str());
    EXPECT_TRUE(cases) << cases.error().message;
    return cases ? *cases : std::vector<BubbleCase>{};
}

TEST(BubbleRates, AreThePublishedOnes) {
    const auto cases = published();
    ASSERT_EQ(cases.size(), 8u);
    for (const auto& one : cases) {
        const auto rates = bubble_rates(one);
        ASSERT_TRUE(rates) << rates.error().message;
        for (const auto& rate : *rates) {
            if (!rate.published || rate.column == "bubble_interleaved_1f1b" || rate.note == "wide search") continue;
            EXPECT_NEAR(rate.simulated, *rate.published, 0.000051)
                << rate.column << ", p " << one.ranks << ", m " << one.micro_batches;
        }
    }
}

// The wide search finds schedules that are never worse than the paper's rules.
TEST(BubbleRates, TheWideSearchIsNeverWorse) {
    for (const auto& one : published()) {
        const auto rates = bubble_rates(one);
        ASSERT_TRUE(rates);
        const auto rate = [&](std::string_view column) {
            for (const auto& each : *rates)
                if (each.column == column) return each.simulated;
            return -1.0;
        };
        EXPECT_LE(rate("bubble_zb_2p_search"), rate("bubble_zb_2p") + 1e-12);
        EXPECT_LE(rate("bubble_zb_1p_search"), rate("bubble_zb_1p") + 1e-12);
        EXPECT_GE(rate("bubble_zb_2p_search"), 0);
    }
}

// More room never makes the step longer, and neither search is worse than its handcrafted sibling.
TEST(AutoSchedule, MoreRoomIsNeverWorse) {
    for (const int p : {2, 4, 8})
        for (const int m : {2, 8, 24})
            for (const Seconds weight : {0.5, 1.0})
                for (const Seconds send : {0.0, 0.2}) {
                    const auto times = StageTimes::uniform(p, 1, 1, weight, send);
                    const auto step = [&](Schedule kind) {
                        return simulate(*make_schedule(kind, {p, m}, times), times)->makespan;
                    };
                    const auto h1 = step(Schedule::ZbH1), one = step(Schedule::Zb1p), two = step(Schedule::Zb2p);
                    EXPECT_LE(one, h1 + 1e-9) << p << " " << m << " " << weight << " " << send;
                    EXPECT_LE(two, one + 1e-9) << p << " " << m << " " << weight << " " << send;
                }
}

}  // namespace
}  // namespace plimsoll
