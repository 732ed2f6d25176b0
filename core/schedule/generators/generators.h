// SPDX-License-Identifier: Apache-2.0
// Inside core/schedule only: one function per schedule, which returns the list of one rank. The functions trust the
// shape that make_schedule() has checked.
#pragma once

#include <vector>

#include "core/schedule/schedule.h"

namespace plimsoll {

using OpList = std::vector<PipelineOp>;

OpList gpipe_ops(const ScheduleShape& shape);
OpList one_f_one_b_ops(const ScheduleShape& shape, int rank);
OpList interleaved_ops(const ScheduleShape& shape, int rank);
OpList breadth_first_ops(const ScheduleShape& shape);
OpList zb_h1_ops(const ScheduleShape& shape, int rank);
OpList zb_h2_ops(const ScheduleShape& shape, int rank);
OpList zb_v_ops(const ScheduleShape& shape, int rank);
OpList dualpipe_v_ops(const ScheduleShape& shape, int rank);

/// Distances between the ranks' passes of one micro-batch in a V schedule, in sixths of the time that a micro-batch
/// takes a rank (F, B and W of two chunks, all alike): forward down and up, input backward down and up.
struct VBlock {
    int forward_down, forward_up, backward_down, backward_up;
};
inline constexpr VBlock v_min_block{1, 1, 1, 1}, v_half_block{2, 1, 2, 1};
/// Every rank's list: the block repeated for each micro-batch, six sixths apart, in order of time.
std::vector<OpList> v_schedule_ops(const ScheduleShape& shape, const VBlock& block);

}  // namespace plimsoll
