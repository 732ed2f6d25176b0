// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>
#include <cmath>

#include "core/telemetry/record.h"
#include "ui/run/range_test_curve.h"

namespace plimsoll::ui {
namespace {

/// Falls around 1e-3, lowest near 3e-2.
SeriesStore recorded(int updates) {
    TelemetryBatch batch;
    for (int i = 0; i < updates; ++i) {
        const double rate = 1e-5 * std::pow(10, i / 30.0);
        const double loss = 5 - 3 / (1 + std::exp(-4 * (std::log10(rate) + 3))) + (rate > 0.1 ? 30 * rate : 0);
        batch.points[series::lr].push_back({static_cast<std::uint64_t>(i + 1), 0, rate});
        batch.points[series::loss].push_back({static_cast<std::uint64_t>(i + 1), 0, loss});
    }
    SeriesStore store;
    store.apply(batch);
    return store;
}

TEST(RangeTestCurve, IsOfARangeTestAlone) {
    Plan plan;
    EXPECT_FALSE(rangeTestCurve(plan, recorded(100)));
    plan.lr.kind = LrKind::RangeTest;
    EXPECT_FALSE(rangeTestCurve(plan, SeriesStore()));
    EXPECT_FALSE(rangeTestCurve(plan, recorded(1)));
}

TEST(RangeTestCurve, DrawsTheLossOverTheRateAndSaysWhichToTake) {
    Plan plan;
    plan.lr.kind = LrKind::RangeTest;
    const auto curve = rangeTestCurve(plan, recorded(150));
    ASSERT_TRUE(curve);
    EXPECT_NEAR(curve->points.first().x(), -5, 1e-9);
    EXPECT_NEAR(curve->points.first().y(), 5, 0.01);
    EXPECT_TRUE(curve->words.startsWith(QStringLiteral("take "))) << curve->words.toStdString();
    EXPECT_TRUE(curve->words.contains(QStringLiteral("diverged"))) << curve->words.toStdString();
    EXPECT_EQ(rangeTestCurve(plan, recorded(5))->words, QStringLiteral("no fall of the loss yet"));
}

}  // namespace
}  // namespace plimsoll::ui
