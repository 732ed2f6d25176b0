// SPDX-License-Identifier: Apache-2.0
// The layouts that are possible.
#pragma once

#include <cstdint>
#include <vector>

#include "core/planner/request.h"

namespace plimsoll {

/// One way to divide the GPUs; the rest of the layout is chosen within it.
struct Division {
    std::int64_t gpus = 1;
    std::int64_t tp = 1, pp = 1, cp = 1, ep = 1, dp = 1;
};

struct ScheduleChoice {
    Schedule schedule = Schedule::OneFOneB;
    std::int64_t chunks = 1;
};

struct ZeroChoice {
    std::int64_t stage = 0;
    Offload offload = Offload::None;
};

/// The cluster's first `gpus` GPUs.
Cluster part_of(Cluster cluster, std::int64_t gpus);

/// Numbers of GPUs to plan for: all of the cluster's; with `fewer` also 1, 2, 4, … of a node, then 1 to 16 nodes and
/// powers of two of them. Ascending.
std::vector<std::int64_t> gpu_counts(const Cluster& cluster, bool fewer);

/// Divisions of `gpus` that the model, the batch and the choices allow; check_plan's rules on ranks hold for each.
std::vector<Division> divisions(const PlanRequest& request, std::int64_t gpus, std::int64_t global_batch);
/// Schedules and chunks that a division leaves open. Numbers of chunks are those that give every rank as many layers,
/// up to one layer a stage.
std::vector<ScheduleChoice> schedule_choices(const PlanRequest& request, const Division& division);
std::vector<ZeroChoice> zero_choices(const PlanRequest& request, const Division& division);
std::vector<std::int64_t> micro_batch_choices(const PlanRequest& request, const Division& division,
                                              std::int64_t global_batch);
std::vector<bool> sequence_choices(const PlanRequest& request, const Division& division);
/// Without a limit all modes but selective under flash attention: flash attention keeps no scores, so selective would
/// drop the log-sum-exp alone.
std::vector<Recompute> recompute_choices(const PlanRequest& request);

/// Whether the schedule can run so many micro-batches on so many ranks.
bool schedule_possible(const ScheduleChoice& choice, std::int64_t pp, std::int64_t micro_batches);

/// Every layout of the space that the request's framework can train, in the search's order, for tests and small
/// clusters.
std::vector<Layout> all_layouts(const PlanRequest& request, std::int64_t gpus);

/// The plan's layout with the values of the division and the choices.
Layout layout_of(const PlanRequest& request, const Division& division, const ScheduleChoice& schedule,
                 const ZeroChoice& zero, bool sequence_parallel, std::int64_t micro_batch, std::int64_t global_batch,
                 Recompute recompute);

std::int64_t global_batch_of(const PlanRequest& request);
/// Ascending.
std::vector<std::int64_t> divisors(std::int64_t number);

}  // namespace plimsoll
