// SPDX-License-Identifier: Apache-2.0
#include "core/planner/front.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace plimsoll {
namespace {

std::vector<LayoutPoint> some_points() {
    std::mt19937 random(7);
    std::vector<LayoutPoint> points;
    for (int i = 0; i < 400; ++i) {
        LayoutPoint p;
        p.gpus = 1 << random() % 3;
        p.step = 1.0 + static_cast<double>(random() % 40);
        p.peak = 1 + static_cast<Bytes>(random() % 40);
        p.layout.tp = i;  // tells them apart
        points.push_back(p);
    }
    return points;
}

bool beats(const LayoutPoint& a, const LayoutPoint& b) {
    return a.gpus <= b.gpus && a.step <= b.step && a.peak <= b.peak &&
           (a.gpus < b.gpus || a.step < b.step || a.peak < b.peak);
}

TEST(Front, IsThePointsThatNoneBeats) {
    const auto points = some_points();
    Front front;
    for (const auto& p : points) front.add(p);
    const auto kept = front.sorted();
    for (const auto& p : kept)
        EXPECT_TRUE(
            std::none_of(points.begin(), points.end(), [&](const LayoutPoint& other) { return beats(other, p); }));
    // Every other one is beaten by, or equal to, one that is kept.
    for (const auto& p : points)
        EXPECT_TRUE(std::any_of(kept.begin(), kept.end(), [&](const LayoutPoint& k) {
            return k.gpus <= p.gpus && k.step <= p.step && k.peak <= p.peak;
        }));
    auto backwards = points;
    std::reverse(backwards.begin(), backwards.end());
    Front other;
    for (const auto& p : backwards) other.add(p);
    const auto same = other.sorted();
    ASSERT_EQ(same.size(), kept.size());
    for (std::size_t i = 0; i < kept.size(); ++i) EXPECT_EQ(same[i].layout.tp, kept[i].layout.tp);
}

TEST(Front, BeatenMeansFasterAndNoLarger) {
    Front front;
    front.add({{}, 2, 0, 10, 100});
    EXPECT_TRUE(front.beaten(2, 11, 100));
    EXPECT_TRUE(front.beaten(4, 11, 200));
    EXPECT_FALSE(front.beaten(1, 11, 100)) << "fewer GPUs";
    EXPECT_FALSE(front.beaten(2, 11, 99));
    EXPECT_FALSE(front.beaten(2, 10, 100)) << "as fast: it may be the one itself";
}

TEST(Ranking, KeepsTheBestOfAnyOrder) {
    for (const auto objective : {Objective::Time, Objective::Memory, Objective::Cost, Objective::FewestGpus}) {
        auto points = some_points();
        Ranking ranking(objective, 25);
        for (const auto& p : points) ranking.add(p);
        ranking.add(points.front());  // twice is once
        Ranking twice(objective, 25);
        twice.add(ranking);
        twice.add(ranking);
        std::sort(points.begin(), points.end(), [&](auto& a, auto& b) { return better(objective, a, b); });
        const auto kept = twice.sorted();
        ASSERT_EQ(kept.size(), 25u);
        for (std::size_t i = 0; i < kept.size(); ++i) EXPECT_EQ(kept[i].layout.tp, points[i].layout.tp);
    }
}

}  // namespace
}  // namespace plimsoll
