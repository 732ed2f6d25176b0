// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/run/rate_curve.h"

#include <algorithm>
#include <QCoreApplication>

#include "core/control/lr_schedule.h"
#include "ui/common/value_format.h"

namespace plimsoll::ui {

namespace {

struct RateWords {
    Q_DECLARE_TR_FUNCTIONS(RateWords)
};

constexpr std::int64_t samples = 240;

}  // namespace

RateCurve rateCurve(const Plan& plan) {
    RateCurve curve;
    const std::int64_t steps = std::max<std::int64_t>(plan.training.steps, 1);
    const auto add = [&](std::int64_t step) {
        curve.points << QPointF(static_cast<double>(step), learning_rate(plan, step));
    };
    const std::int64_t count = std::min(samples, steps);
    // The corner at the warmup's end may lie between two samples.
    const std::int64_t corner = std::clamp<std::int64_t>(warmup_updates(plan.lr, steps) - 1, 0, steps - 1);
    bool cornered = false;
    for (std::int64_t i = 0; i < count; ++i) {
        const auto step = static_cast<std::int64_t>(static_cast<double>(i) * static_cast<double>(steps - 1) /
                                                    static_cast<double>(std::max<std::int64_t>(count - 1, 1)));
        if (!cornered && corner < step) add(corner);
        cornered = cornered || corner <= step;
        add(step);
    }
    if (count == 1) curve.points << QPointF(1, curve.points.first().y());
    double most = 0;
    for (const QPointF& point : std::as_const(curve.points)) most = std::max(most, point.y());
    curve.top = scientific(most, 2);
    curve.bottom = QStringLiteral("0");
    curve.start = QStringLiteral("0");
    curve.end = RateWords::tr("step %1").arg(formatStep(static_cast<double>(steps)));
    curve.words = RateWords::tr("ends at %1").arg(scientific(curve.points.last().y(), 2));
    if (const auto jump = jump_update(plan.lr, steps); jump && *jump < steps)
        curve.words =
            RateWords::tr("jumps from 0 to the peak at step %1").arg(formatStep(static_cast<double>(*jump + 1)));
    return curve;
}

}  // namespace plimsoll::ui
