// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/plan_pipeline/plan_pipeline.h"

#include <filesystem>
#include <numeric>

#include "core/schedule/generators/make_schedule.h"
#include "core/schedule/plan_pipeline/plan_schedule.h"
#include "core/schedule/plan_pipeline/schedule_file.h"
#include "core/schedule/stage_times.h"

namespace plimsoll {
namespace {

Result<Pipeline> laid_out(Schedule kind, Result<PipelineSchedule> schedule, StageTimes times) {
    if (!schedule) return tl::unexpected(schedule.error());
    PLIMSOLL_TRY(auto timeline, simulate(*schedule, times));
    return Pipeline{kind, *std::move(schedule), std::move(times), std::move(timeline), std::nullopt, {}};
}

Pipeline with_closed_form(Pipeline pipeline) {
    const auto& schedule = pipeline.schedule;
    const auto& times = pipeline.times;
    const auto a_rank = [&](const std::vector<Seconds>& list) {
        return std::accumulate(list.begin(), list.end(), 0.0) / schedule.ranks;
    };
    pipeline.closed_form =
        closed_form_bubble(pipeline.kind, {schedule.ranks, schedule.micro_batches, schedule.chunks},
                           a_rank(times.forward), a_rank(times.backward_input), a_rank(times.backward_weight));
    return pipeline;
}

}  // namespace

std::string pipeline_title(const Pipeline& pipeline) {
    return pipeline.file.empty() ? schedule_title(pipeline.kind)
                                 : std::filesystem::path(pipeline.file).filename().string();
}

Result<Pipeline> simulate_pipeline(Schedule kind, const ScheduleShape& shape, StageTimes times) {
    auto schedule = make_schedule(kind, shape, times);
    return laid_out(kind, std::move(schedule), std::move(times)).map(with_closed_form);
}

Result<Pipeline> simulate_pipeline(const Plan& plan, StageTimes times) {
    const auto kind = plan.layout.pp > 1 ? plan.layout.schedule : Schedule::OneFOneB;
    auto schedule = plan_schedule(plan, times);
    auto pipeline = laid_out(kind, std::move(schedule), std::move(times));
    if (plan.layout.schedule_file.empty()) return std::move(pipeline).map(with_closed_form);
    if (pipeline) pipeline->file = plan.layout.schedule_file;
    return pipeline;
}

Result<Pipeline> simulate_pipeline(const Plan& plan) { return simulate_pipeline(plan, relative_stage_times(plan)); }

}  // namespace plimsoll
