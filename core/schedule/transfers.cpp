// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/transfers.h"

#include <map>
#include <tuple>

namespace plimsoll {

std::vector<PipelineStep> steps_of(const PipelineSchedule& schedule, int rank) {
    std::vector<PipelineStep> steps;
    const auto& ops = schedule.ops[static_cast<std::size_t>(rank)];
    steps.reserve(ops.size());
    for (const auto& op : ops) {
        PipelineStep step{op, {}, {}};
        const int stage = schedule.stage_of(rank, op.chunk);
        const auto elsewhere = [&](int other) {
            return other >= 0 && other < schedule.stages() && schedule.rank_of(other) != rank;
        };
        const bool gradient = sends_gradient(op.kind);
        if (op.kind == OpKind::Forward || gradient) {
            const int from = gradient ? stage + 1 : stage - 1, to = gradient ? stage - 1 : stage + 1;
            if (elsewhere(from)) step.receives.push_back({schedule.rank_of(from), from, op.micro_batch, gradient});
            if (elsewhere(to)) step.sends.push_back({schedule.rank_of(to), stage, op.micro_batch, gradient});
        }
        steps.push_back(std::move(step));
    }
    return steps;
}

bool transfers_in_order(const PipelineSchedule& schedule) {
    using Sent = std::tuple<int, int, bool>;  // stage, micro-batch, gradient
    std::map<std::pair<int, int>, std::pair<std::vector<Sent>, std::vector<Sent>>> links;
    for (int rank = 0; rank < schedule.ranks; ++rank)
        for (const auto& step : steps_of(schedule, rank)) {
            for (const auto& t : step.sends)
                links[{rank, t.peer}].first.emplace_back(t.stage, t.micro_batch, t.gradient);
            for (const auto& t : step.receives)
                links[{t.peer, rank}].second.emplace_back(t.stage, t.micro_batch, t.gradient);
        }
    for (const auto& [link, lists] : links)
        if (lists.first != lists.second) return false;
    return true;
}

}  // namespace plimsoll
