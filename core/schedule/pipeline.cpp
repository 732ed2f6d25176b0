// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/pipeline.h"

#include <numeric>

namespace plimsoll {

Result<Pipeline> simulate_pipeline(Schedule kind, const ScheduleShape& shape, StageTimes times) {
    auto schedule = make_schedule(kind, shape, times);
    if (!schedule) return tl::unexpected(schedule.error());
    auto timeline = simulate(*schedule, times);
    if (!timeline) return tl::unexpected(timeline.error());
    const auto a_rank = [&](const std::vector<Seconds>& list) {
        return std::accumulate(list.begin(), list.end(), 0.0) / shape.ranks;
    };
    auto form = closed_form_bubble(kind, shape, a_rank(times.forward), a_rank(times.backward_input),
                                   a_rank(times.backward_weight));
    return Pipeline{kind, *std::move(schedule), std::move(times), *std::move(timeline), std::move(form)};
}

Result<Pipeline> simulate_pipeline(const Plan& plan, StageTimes times) {
    const auto& layout = plan.layout;
    if (layout.pp > max_schedule_ops || layout.accumulation > max_schedule_ops)
        return bad_input("{} stages x {} micro-batches are more than can be laid out", layout.pp, layout.accumulation);
    return simulate_pipeline(
        layout.pp > 1 ? layout.schedule : Schedule::OneFOneB,
        {static_cast<int>(layout.pp), static_cast<int>(layout.accumulation), static_cast<int>(chunks_per_rank(plan))},
        std::move(times));
}

Result<Pipeline> simulate_pipeline(const Plan& plan) { return simulate_pipeline(plan, relative_stage_times(plan)); }

}  // namespace plimsoll
