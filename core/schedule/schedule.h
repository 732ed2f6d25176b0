// SPDX-License-Identifier: Apache-2.0
// Pipeline schedules as data: which rank does which micro-batch's forward or backward, in what order.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/result.h"
#include "core/plan/plan.h"
#include "core/plan/schedule_kind.h"
#include "core/schedule/op.h"
#include "core/schedule/times.h"

namespace plimsoll {

/// How the stages of the model (its consecutive parts, 0 holds the embedding) lie on the ranks.
enum class Placement : std::uint8_t {
    Loop,  ///< stage s on rank s mod p: with several chunks the model goes round the ranks
    V,     ///< two chunks: down the ranks and back up, so rank 0 holds the first stage and the last
};

/// ops[rank] is what that rank executes, in order.
struct PipelineSchedule {
    int ranks = 1;
    int micro_batches = 1;
    int chunks = 1;  ///< stages a rank holds
    Placement placement = Placement::Loop;
    std::vector<std::vector<PipelineOp>> ops;

    int stages() const { return ranks * chunks; }
    int stage_of(int rank, int chunk) const {
        return placement == Placement::V && chunk == 1 ? 2 * ranks - 1 - rank : chunk * ranks + rank;
    }
    int rank_of(int stage) const {
        return placement == Placement::V && stage >= ranks ? 2 * ranks - 1 - stage : stage % ranks;
    }
    int chunk_of(int stage) const { return stage / ranks; }
};

struct ScheduleShape {
    int ranks = 1;  ///< p
    int micro_batches = 1;
    int chunks = 1;  ///< v; read by the interleaved and breadth-first schedules, the V schedules have two
};

/// Most operations that a schedule may have: lists beyond it would fill memory.
inline constexpr std::int64_t max_schedule_ops = 1 << 24;

/// Where the plan's stages lie: its ranks, chunks and placement, with one micro-batch and no operations.
PipelineSchedule stages_on_ranks(const Plan& plan);
/// How `kind` lays stages on ranks.
Placement placement_of(Schedule kind);
/// The name of the papers: "1F1B", "interleaved 1F1B", "ZB-H1".
const char* schedule_title(Schedule kind);
/// Whether backward is split into input and weight gradients.
bool splits_backward(Schedule kind);
bool splits_backward(const PipelineSchedule& schedule);

}  // namespace plimsoll
