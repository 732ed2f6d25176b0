// SPDX-License-Identifier: Apache-2.0
// Inside core/schedule only: walks a schedule's lists in an order in which every op comes after what it needs.
#pragma once

#include <cstddef>
#include <numeric>
#include <vector>

#include "core/schedule/schedule.h"

namespace plimsoll {

/// Places of a schedule's forwards and gradients in a table of stages x micro-batches.
struct OpTable {
    std::size_t micro_batches;
    explicit OpTable(const PipelineSchedule& schedule)
        : micro_batches(static_cast<std::size_t>(schedule.micro_batches)) {}
    std::size_t at(int stage, int micro_batch) const {
        return static_cast<std::size_t>(stage) * micro_batches + static_cast<std::size_t>(micro_batch);
    }
};

/// Walks the lists. `ready(rank, stage, op)` says whether what the op needs has been visited; `visit(rank, stage, op)`
/// takes it. A rank is looked at again only when an op that the rank may wait for was visited, so each op is tried O(1)
/// times. Returns how far each rank came: the length of its list, or the place of the op at which the rank hangs.
template <class Ready, class Visit>
std::vector<std::size_t> traverse(const PipelineSchedule& schedule, Ready&& ready, Visit&& visit) {
    const auto ranks = static_cast<std::size_t>(schedule.ranks);
    const int last_stage = schedule.stages() - 1;
    std::vector<std::size_t> next(ranks);
    std::vector<int> to_try(ranks);
    std::iota(to_try.rbegin(), to_try.rend(), 0);
    while (!to_try.empty()) {
        const int rank = to_try.back();
        to_try.pop_back();
        const auto& ops = schedule.ops[static_cast<std::size_t>(rank)];
        auto& place = next[static_cast<std::size_t>(rank)];
        for (; place < ops.size(); ++place) {
            const auto& op = ops[place];
            const int stage = schedule.stage_of(rank, op.chunk);
            if (!ready(rank, stage, op)) break;
            visit(rank, stage, op);
            const int woken = op.kind == OpKind::Forward ? stage + 1 : sends_gradient(op.kind) ? stage - 1 : -1;
            if (woken < 0 || woken > last_stage) continue;
            if (const int other = schedule.rank_of(woken); other != rank) to_try.push_back(other);
        }
    }
    return next;
}

}  // namespace plimsoll
