// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/check_schedule.h"

#include <algorithm>

#include "core/schedule/traverse.h"

namespace plimsoll {
namespace {

enum Done : std::uint8_t { forward = 1, whole = 2, input = 4, weight = 8 };

std::uint8_t bit(OpKind kind) {
    switch (kind) {
        case OpKind::Forward:
            return forward;
        case OpKind::Backward:
            return whole;
        case OpKind::BackwardInput:
            return input;
        case OpKind::BackwardWeight:
            return weight;
    }
    return 0;
}

bool complete(std::uint8_t done) { return done == (forward | whole) || done == (forward | input | weight); }

Result<void> check_shape(const PipelineSchedule& schedule) {
    if (schedule.ranks < 1 || schedule.micro_batches < 1 || schedule.chunks < 1)
        return bad_input("a schedule needs at least one rank, micro-batch and chunk, not {}, {} and {}", schedule.ranks,
                         schedule.micro_batches, schedule.chunks);
    if (schedule.placement == Placement::V && schedule.chunks != 2)
        return bad_input("a V schedule has 2 chunks a rank, not {}", schedule.chunks);
    if (schedule.ops.size() != static_cast<std::size_t>(schedule.ranks))
        return bad_input("the schedule has {} ranks but {} lists of operations; give one list a rank", schedule.ranks,
                         schedule.ops.size());
    if (2.0 * schedule.ranks * schedule.micro_batches * schedule.chunks > static_cast<double>(max_schedule_ops))
        return bad_input("the schedule would have {:.0f} operations, more than the {} that can be laid out",
                         2.0 * schedule.ranks * schedule.micro_batches * schedule.chunks, max_schedule_ops);
    return {};
}

Result<std::vector<std::uint8_t>> listed_ops(const PipelineSchedule& schedule) {
    const OpTable table(schedule);
    std::vector<std::uint8_t> listed(table.at(schedule.stages(), 0));
    for (int rank = 0; rank < schedule.ranks; ++rank)
        for (const auto& op : schedule.ops[static_cast<std::size_t>(rank)]) {
            if (op.micro_batch < 0 || op.micro_batch >= schedule.micro_batches || op.chunk < 0 ||
                op.chunk >= schedule.chunks)
                return bad_input("rank {} lists the {}, but micro-batches run from 0 to {} and chunks from 0 to {}",
                                 rank, describe(op), schedule.micro_batches - 1, schedule.chunks - 1);
            auto& done = listed[table.at(schedule.stage_of(rank, op.chunk), op.micro_batch)];
            if (done & bit(op.kind))
                return bad_input("rank {} lists the {} twice; each may run once", rank, describe(op));
            done |= bit(op.kind);
        }
    return listed;
}

PipelineOp missing_op(std::uint8_t done, int micro_batch, int chunk) {
    const auto kind = !(done & forward) ? OpKind::Forward
                      : (done & input)  ? OpKind::BackwardWeight
                      : (done & weight) ? OpKind::BackwardInput
                                        : OpKind::Backward;
    return {kind, micro_batch, chunk};
}

Result<void> check_complete(const PipelineSchedule& schedule, const std::vector<std::uint8_t>& listed) {
    const OpTable table(schedule);
    for (int stage = 0; stage < schedule.stages(); ++stage)
        for (int m = 0; m < schedule.micro_batches; ++m) {
            const auto done = listed[table.at(stage, m)];
            if (complete(done)) continue;
            const int rank = schedule.rank_of(stage), chunk = schedule.chunk_of(stage);
            if ((done & whole) && (done & (input | weight)))
                return bad_input(
                    "rank {} lists the {} and a part of it again; give the whole backward or its two parts", rank,
                    describe({OpKind::Backward, m, chunk}));
            return bad_input("rank {} never runs the {}; every stage must run every forward and backward once", rank,
                             describe(missing_op(done, m, chunk)));
        }
    return {};
}

/// The operation for which a blocked op still waits.
struct Wanted {
    int rank;
    PipelineOp op;
};

class Progress {
public:
    explicit Progress(const PipelineSchedule& schedule)
        : schedule_(schedule), table_(schedule), done_(table_.at(schedule.stages(), 0)) {}

    bool ready(int stage, const PipelineOp& op) const {
        const auto own = done_[table_.at(stage, op.micro_batch)];
        switch (op.kind) {
            case OpKind::Forward:
                return stage == 0 || (done_[table_.at(stage - 1, op.micro_batch)] & forward);
            case OpKind::BackwardWeight:
                return own & input;
            default:
                break;
        }
        return (own & forward) &&
               (stage + 1 == schedule_.stages() || (done_[table_.at(stage + 1, op.micro_batch)] & (whole | input)));
    }
    void take(int stage, const PipelineOp& op) { done_[table_.at(stage, op.micro_batch)] |= bit(op.kind); }

    Wanted wanted(int stage, const PipelineOp& op) const {
        const auto op_at = [&](OpKind kind, int where) {
            return Wanted{schedule_.rank_of(where), {kind, op.micro_batch, schedule_.chunk_of(where)}};
        };
        if (op.kind == OpKind::Forward) return op_at(OpKind::Forward, stage - 1);
        if (op.kind == OpKind::BackwardWeight) return op_at(OpKind::BackwardInput, stage);
        if (!(done_[table_.at(stage, op.micro_batch)] & forward)) return op_at(OpKind::Forward, stage);
        return op_at(OpKind::Backward, stage + 1);
    }

private:
    const PipelineSchedule& schedule_;
    OpTable table_;
    std::vector<std::uint8_t> done_;
};

}  // namespace

Result<void> check_schedule(const PipelineSchedule& schedule) {
    if (auto shape = check_shape(schedule); !shape) return shape;
    PLIMSOLL_TRY(const auto listed, listed_ops(schedule));
    if (auto all = check_complete(schedule, listed); !all) return all;

    Progress progress(schedule);
    const auto reached = traverse(
        schedule, [&](int, int stage, const PipelineOp& op) { return progress.ready(stage, op); },
        [&](int, int stage, const PipelineOp& op) { progress.take(stage, op); });
    for (int rank = 0; rank < schedule.ranks; ++rank) {
        const auto& ops = schedule.ops[static_cast<std::size_t>(rank)];
        const auto place = reached[static_cast<std::size_t>(rank)];
        if (place == ops.size()) continue;
        const auto wanted = progress.wanted(schedule.stage_of(rank, ops[place].chunk), ops[place]);
        return bad_input(
            "the schedule never ends: rank {} hangs at its operation {}, the {}, because rank {} never gets to the {}; "
            "reorder the lists",
            rank, place, describe(ops[place]), wanted.rank, describe(wanted.op));
    }
    return {};
}

int peak_in_flight(const PipelineSchedule& schedule, int rank) {
    int alive = 0, peak = 0;
    for (const auto& op : schedule.ops[static_cast<std::size_t>(rank)]) {
        if (op.kind == OpKind::Forward) peak = std::max(peak, ++alive);
        if (op.kind == OpKind::Backward || op.kind == OpKind::BackwardWeight) --alive;
    }
    return peak;
}

double peak_micro_batches(const PipelineSchedule& schedule) {
    int peak = 0;
    for (int rank = 0; rank < schedule.ranks; ++rank) peak = std::max(peak, peak_in_flight(schedule, rank));
    return static_cast<double>(peak) / schedule.chunks;
}

}  // namespace plimsoll
