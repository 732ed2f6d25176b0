// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/plan_pipeline/op_cause.h"

#include <algorithm>

#include "core/schedule/traverse.h"

namespace plimsoll {
namespace {

constexpr auto nowhere = static_cast<std::size_t>(-1);

}  // namespace

Causes::Causes(const PipelineSchedule& schedule, const Timeline& timeline) : schedule_(schedule), timeline_(timeline) {
    const OpTable table(schedule);
    forward_.assign(table.at(schedule.stages(), 0), nowhere);
    gradient_ = forward_;
    for (std::size_t rank = 0; rank < timeline.ranks.size(); ++rank)
        for (std::size_t index = 0; index < timeline.ranks[rank].size(); ++index) {
            const auto& op = timeline.ranks[rank][index].op;
            const auto place = table.at(schedule.stage_of(static_cast<int>(rank), op.chunk), op.micro_batch);
            if (op.kind == OpKind::Forward) forward_[place] = index;
            if (sends_gradient(op.kind)) gradient_[place] = index;
        }
}

const TimedOp& Causes::at(const OpPlace& place) const {
    return timeline_.ranks[static_cast<std::size_t>(place.rank)][place.index];
}

std::optional<OpPlace> Causes::place_of(int stage, int micro_batch, bool gradient) const {
    if (stage < 0 || stage >= schedule_.stages()) return std::nullopt;
    const auto index = (gradient ? gradient_ : forward_)[OpTable(schedule_).at(stage, micro_batch)];
    if (index == nowhere) return std::nullopt;
    return OpPlace{schedule_.rank_of(stage), index};
}

Cause Causes::cause(const OpPlace& place) const {
    const auto& timed = at(place);
    const int stage = schedule_.stage_of(place.rank, timed.op.chunk);
    const bool forward = timed.op.kind == OpKind::Forward;
    const Seconds free = place.index > 0 ? at({place.rank, place.index - 1}).end : 0;
    const Seconds waited = std::max(0.0, timed.start - free);
    // A wait that is only rounding belongs to the rank's own order.
    if (waited > 1e-9 * timeline_.makespan && timed.op.kind != OpKind::BackwardWeight)
        if (const auto other = place_of(forward ? stage - 1 : stage + 1, timed.op.micro_batch, !forward))
            return {forward ? Cause::Kind::Input : Cause::Kind::Gradient, *other, waited,
                    std::max(0.0, timed.start - at(*other).end)};
    if (place.index == 0) return {Cause::Kind::Nothing, {}, waited, 0};
    return {Cause::Kind::Rank, {place.rank, place.index - 1}, waited, 0};
}

std::vector<OpPlace> Causes::chain(OpPlace place) const {
    std::vector<OpPlace> chain{place};
    for (auto why = cause(place); why.kind != Cause::Kind::Nothing; why = cause(chain.back())) chain.push_back(why.op);
    return chain;
}

}  // namespace plimsoll
