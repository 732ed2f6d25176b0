// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/plan_pipeline/memory_curve.h"

#include <algorithm>

namespace plimsoll {

MemoryCurve memory_curve(const PipelineSchedule& schedule, const Timeline& timeline, double weight_share) {
    const double whole = 1.0 / schedule.chunks;
    MemoryCurve curve;
    for (const auto& ops : timeline.ranks) {
        std::vector<MemoryPoint> points{{0, 0}};
        double alive = 0, peak = 0;
        const auto change = [&](Seconds time, double by) {
            alive = std::max(0.0, alive + by);
            peak = std::max(peak, alive);
            if (points.back().time == time)
                points.back().micro_batches = alive;
            else
                points.push_back({time, alive});
        };
        for (const auto& timed : ops) switch (timed.op.kind) {
                case OpKind::Forward:
                    change(timed.start, whole);
                    break;
                case OpKind::Backward:
                    change(timed.end, -whole);
                    break;
                case OpKind::BackwardInput:
                    change(timed.end, -whole * (1 - weight_share));
                    break;
                case OpKind::BackwardWeight:
                    change(timed.end, -whole * weight_share);
                    break;
            }
        curve.ranks.push_back(std::move(points));
        curve.peak.push_back(peak);
    }
    return curve;
}

}  // namespace plimsoll
