// SPDX-License-Identifier: Apache-2.0
// Which list of operations a plan's pipeline follows.
#include "core/schedule/plan_pipeline/plan_schedule.h"

#include "core/schedule/generators/make_schedule.h"
#include "core/schedule/stage_times.h"

namespace plimsoll {
namespace {

Result<void> fits_plan(const PipelineSchedule& schedule, const Plan& plan) {
    const auto& layout = plan.layout;
    const auto& file = layout.schedule_file;
    if (schedule.ranks != layout.pp)
        return bad_input(
            "{} (layout.schedule_file) is for {} pipeline ranks, but layout.pp is {}; set it to {} or take another file",
            file, schedule.ranks, layout.pp, schedule.ranks);
    if (schedule.micro_batches != layout.accumulation)
        return bad_input(
            "{} (layout.schedule_file) is for {} micro-batches, but layout.accumulation is {}; set it to {} or take another file",
            file, schedule.micro_batches, layout.accumulation, schedule.micro_batches);
    if (schedule.chunks == chunks_per_rank(plan) && schedule.placement == placement_of(layout.schedule)) return {};
    const auto cure =
        schedule.placement == Placement::V ? std::string("set layout.schedule to zb-v")
        : schedule.chunks == 1
            ? std::string("set layout.schedule to 1f1b")
            : fmt::format("set layout.schedule to interleaved-1f1b and layout.chunks to {}", schedule.chunks);
    return bad_input("{} (layout.schedule_file) lays {} chunk{} on a rank{}, but layout.schedule {} does not; {}", file,
                     schedule.chunks, schedule.chunks == 1 ? "" : "s",
                     schedule.placement == Placement::V ? ", folded" : "", name_of(layout.schedule), cure);
}

}  // namespace

Layout laid_out_as(Layout layout, const PipelineSchedule& schedule) {
    layout.pp = schedule.ranks;
    layout.accumulation = schedule.micro_batches;
    if (takes_chunks(layout.schedule) && schedule.chunks > 1) layout.chunks = schedule.chunks;
    const bool same_chunks = chunks_of(layout.schedule, layout.chunks) == schedule.chunks;
    if (same_chunks && placement_of(layout.schedule) == schedule.placement) return layout;
    layout.schedule = schedule.placement == Placement::V ? Schedule::ZbV
                      : schedule.chunks > 1              ? Schedule::Interleaved
                                                         : Schedule::OneFOneB;
    if (takes_chunks(layout.schedule)) layout.chunks = schedule.chunks;
    return layout;
}

Result<PipelineSchedule> plan_schedule(const Plan& plan) { return plan_schedule(plan, relative_stage_times(plan)); }

Result<PipelineSchedule> plan_schedule(const Plan& plan, const StageTimes& times) {
    const auto& layout = plan.layout;
    if (layout.pp > max_schedule_ops || layout.accumulation > max_schedule_ops)
        return bad_input("{} stages x {} micro-batches are more than can be laid out", layout.pp, layout.accumulation);
    if (layout.pp <= 1 && !layout.schedule_file.empty())
        return bad_input(
            "layout.schedule_file lists the operations of a pipeline, but layout.pp is 1; clear it or raise layout.pp");
    if (layout.schedule_file.empty())
        return make_schedule(layout.pp > 1 ? layout.schedule : Schedule::OneFOneB,
                             {static_cast<int>(layout.pp), static_cast<int>(layout.accumulation),
                              static_cast<int>(chunks_per_rank(plan))},
                             times);
    auto schedule = read_schedule(layout.schedule_file);
    if (!schedule) return bad_input("layout.schedule_file: {}", schedule.error().message);
    PLIMSOLL_CHECK(fits_plan(*schedule, plan));
    return schedule;
}

}  // namespace plimsoll
