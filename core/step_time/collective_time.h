// SPDX-License-Identifier: Apache-2.0
// Time of collectives on a two-level topology, by the alpha-beta model.
#pragma once

#include <cstdint>

#include "core/step_time/hardware.h"

namespace plimsoll {

/// Where a group's ranks lie: `ranks` of them, `a_node` on each node. Neighbours in the group are `stride` ranks apart:
/// tensor parallelism 1, context parallelism tp, data parallelism tp x cp, pipelines tp x cp x dp
/// (core/engine/ranks/mesh.h).
struct Group {
    std::int64_t ranks = 1;
    std::int64_t a_node = 1;
    bool one_node() const { return a_node >= ranks; }
};
Group group_of(std::int64_t ranks, std::int64_t stride, const Hardware& hardware);

enum class CollectiveKind { Flat, Tree, Hierarchical };

/// `bytes` is the whole tensor (what each rank holds before an all-reduce or a reduce-scatter and after an all-gather).
/// Flat ring: 2 (n - 1)/n of the bytes over the slowest link of the ring. A group with several ranks on a node uses as
/// many of the node's network cards at once, up to the rate in the node (NCCL's rings over several rails; Narayanan
/// 2021, section 4.1). Tree: 2 log2(n) hops and twice the bytes. Hierarchical: reduce-scatter in the node, all-reduce
/// between nodes, all-gather in the node. The fastest is taken: NCCL chooses likewise (Jeaugey 2019).
Seconds all_reduce_time(const Hardware& hardware, const Group& group, double bytes);
Seconds all_reduce_time(const Hardware& hardware, const Group& group, double bytes, CollectiveKind kind);
/// All-reduce in groups of `inside` neighbours: reduce-scatter within each group, all-reduce of the parts between
/// groups, all-gather within each group (training.all_reduce_group; two groups of four on an NVLink box of eight send
/// as many bytes as one ring of eight, in fewer hops). `inside` has to divide the group and, where nodes are crossed,
/// lie in one node; otherwise the flat ring's time is given.
Seconds grouped_all_reduce_time(const Hardware& hardware, const Group& group, std::int64_t inside, double bytes);
/// Half of a ring's all-reduce; a reduce-scatter takes as long.
Seconds all_gather_time(const Hardware& hardware, const Group& group, double bytes);
/// `bytes` leave each rank in all, its own share included.
Seconds all_to_all_time(const Hardware& hardware, const Group& group, double bytes);
/// From one rank to another, in the node or between nodes.
Seconds send_time(const Hardware& hardware, bool in_node, double bytes);

}  // namespace plimsoll
