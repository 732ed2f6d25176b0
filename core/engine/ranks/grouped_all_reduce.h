// SPDX-License-Identifier: Apache-2.0
// All-reduce in two levels: inside groups of neighbours, then between them (Jia 2018, section 3.2; NCCL's "tree of
// rings" and DeepSpeed's hierarchical all-reduce have the same shape).
#pragma once

#include <memory>

#include "core/engine/ranks/collectives.h"

namespace plimsoll::engine {

/// `flat` with another all_reduce_sum: a reduce-scatter inside groups of `group_size` neighbouring ranks, an all-reduce
/// of the parts between ranks of the same place, an all-gather inside the groups. Between groups only 1 / group_size of
/// the data travels from each rank, which pays where the links inside are faster (two NVLink islands of four, a node).
/// The first phase overlaps with what the caller does; the others run in wait(). group_size divides the number of
/// ranks. Every rank of `flat`, which `world` made from `members`, calls it.
Result<std::unique_ptr<Collectives>> grouped_all_reduce(std::unique_ptr<Collectives> flat, Collectives& world,
                                                        const std::vector<int>& members, int group_size);

}  // namespace plimsoll::engine
