// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/run/range_test_curve.h"

#include <algorithm>
#include <cmath>
#include <QCoreApplication>

#include "core/control/lr_range_test.h"
#include "core/telemetry/record.h"
#include "ui/common/value_format.h"

namespace plimsoll::ui {

namespace {

struct RangeTestWords {
    Q_DECLARE_TR_FUNCTIONS(RangeTestWords)
};

}  // namespace

std::optional<RangeTestCurve> rangeTestCurve(const Plan& plan, const SeriesStore& series) {
    if (plan.lr.kind != LrKind::RangeTest) return std::nullopt;
    const Pyramid* rate = series.find(series::lr);
    const Pyramid* loss = series.find(series::loss);
    if (rate == nullptr || loss == nullptr) return std::nullopt;
    const std::size_t count = std::min(rate->size(), loss->size());
    std::vector<double> rates, losses;
    for (std::size_t i = 0; i < count; ++i) {
        rates.push_back(rate->value(i));
        losses.push_back(loss->value(i));
    }
    if (count < 2) return std::nullopt;
    RangeTestCurve curve;
    const auto result = judge_range_test(rates, losses);
    const std::vector<double>& heights = result ? result->smoothed : losses;
    double most = 0;
    for (std::size_t i = 0; i < heights.size(); ++i) {
        if (!std::isfinite(heights[i])) break;
        curve.points << QPointF(std::log10(rates[i]), heights[i]);
        most = std::max(most, heights[i]);
    }
    if (curve.points.size() < 2) return std::nullopt;
    curve.top = formatValue(ValueKind::Plain, most);
    curve.bottom = QStringLiteral("0");
    curve.start = scientific(rates.front(), 2);
    curve.end = scientific(rates[static_cast<std::size_t>(curve.points.size()) - 1], 2);
    if (!result) {
        curve.words = RangeTestWords::tr("no fall of the loss yet");
        return curve;
    }
    curve.words =
        RangeTestWords::tr("take %1: fell fastest at %2, lowest at %3")
            .arg(scientific(result->suggestion, 2), scientific(result->steepest, 2), scientific(result->lowest, 2));
    if (result->diverged) curve.words += RangeTestWords::tr(", diverged at %1").arg(scientific(*result->diverged, 2));
    return curve;
}

}  // namespace plimsoll::ui
