// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/generators/make_schedule.h"

#include <algorithm>

#include "core/schedule/generators/auto_schedule.h"
#include "core/schedule/generators/generators.h"
#include "core/schedule/stage_times.h"

namespace plimsoll {
namespace {

Result<void> check_shape(Schedule kind, const ScheduleShape& shape) {
    const auto [ranks, micro_batches, chunks] = shape;
    if (ranks < 1) return bad_input("a pipeline needs at least one stage, not {}; set layout.pp to 1 or more", ranks);
    if (micro_batches < 1)
        return bad_input("a pipeline needs at least one micro-batch, not {}; set layout.accumulation to 1 or more",
                         micro_batches);
    if (chunks < 1) return bad_input("a rank holds at least one chunk, not {}; set layout.chunks to 1 or more", chunks);
    const double ops = (splits_backward(kind) ? 3.0 : 2.0) * ranks * micro_batches * chunks;
    if (ops > static_cast<double>(max_schedule_ops))
        return bad_input(
            "{} ranks x {} chunks x {} micro-batches are {:.0f} operations, more than the {} that can be laid out; lower "
            "layout.accumulation, layout.chunks or layout.pp",
            ranks, chunks, micro_batches, ops, max_schedule_ops);
    if (kind == Schedule::DualPipeV && micro_batches < 2 * ranks)
        return bad_input(
            "DualPipeV needs two micro-batches a rank, {} for {} ranks, not {}; set layout.accumulation to {} or more, or "
            "layout.pp to {} or less",
            2 * ranks, ranks, micro_batches, 2 * ranks, std::max(1, micro_batches / 2));
    return {};
}

std::vector<OpList> lists(Schedule kind, const ScheduleShape& shape, const StageTimes& times) {
    const auto each_rank = [&](auto&& ops_of) {
        std::vector<OpList> all;
        all.reserve(static_cast<std::size_t>(shape.ranks));
        for (int rank = 0; rank < shape.ranks; ++rank) all.push_back(ops_of(shape, rank));
        return all;
    };
    const auto same_on_all = [&](auto&& ops_of) {
        return std::vector<OpList>(static_cast<std::size_t>(shape.ranks), ops_of(shape));
    };
    const auto limits = [&](double a_rank) {
        AutoLimits room;
        room.micro_batches = a_rank * shape.ranks;
        room.tried_ops = 2'500'000;  // a redraw of the studio waits for it
        return room;
    };
    switch (kind) {
        case Schedule::GPipe:
            return same_on_all(gpipe_ops);
        case Schedule::OneFOneB:
            return each_rank(one_f_one_b_ops);
        case Schedule::Interleaved:
            return each_rank(interleaved_ops);
        case Schedule::BreadthFirst:
            return same_on_all(breadth_first_ops);
        case Schedule::ZbH1:
            return each_rank(zb_h1_ops);
        case Schedule::ZbH2:
            return each_rank(zb_h2_ops);
        case Schedule::Zb1p:
            return auto_schedule(shape, times, limits(1)).ops;
        case Schedule::Zb2p:
            return auto_schedule(shape, times, limits(2)).ops;
        case Schedule::ZbV:
            return each_rank(zb_v_ops);
        case Schedule::VHalf:
            return v_schedule_ops(shape, v_half_block);
        case Schedule::VMin:
            return v_schedule_ops(shape, v_min_block);
        case Schedule::DualPipeV:
            return each_rank(dualpipe_v_ops);
    }
    return {};
}

}  // namespace

Result<PipelineSchedule> make_schedule(Schedule kind, ScheduleShape shape, const StageTimes& times) {
    shape.chunks = static_cast<int>(chunks_of(kind, shape.chunks));
    PLIMSOLL_CHECK(check_shape(kind, shape));
    if (!times.forward.empty()) PLIMSOLL_CHECK(check_times(times, shape.ranks * shape.chunks));
    return PipelineSchedule{shape.ranks, shape.micro_batches, shape.chunks, placement_of(kind),
                            lists(kind, shape, times)};
}

}  // namespace plimsoll
