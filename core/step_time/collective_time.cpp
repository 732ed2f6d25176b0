// SPDX-License-Identifier: Apache-2.0
#include "core/step_time/collective_time.h"

#include <algorithm>
#include <cmath>

namespace plimsoll {

namespace {

double node_rate(const Hardware& h) { return h.node_link * h.efficiency.node_link; }
double nic_rate(const Hardware& h) { return h.nic * h.efficiency.nic; }

/// Rate and hop of a ring through all ranks of the group.
struct Ring {
    double rate;
    Seconds hops;  ///< time of the hops once round the ring
};
Ring ring_of(const Hardware& h, const Group& group) {
    const double n = as_double(group.ranks);
    if (group.one_node()) return {node_rate(h), (n - 1) * h.efficiency.node_hop};
    const double nodes = std::ceil(n / as_double(group.a_node));
    return {std::min(node_rate(h), as_double(group.a_node) * nic_rate(h)),
            nodes * h.efficiency.nic_hop + (n - nodes) * h.efficiency.node_hop};
}

}  // namespace

Group group_of(std::int64_t ranks, std::int64_t stride, const Hardware& hardware) {
    const auto a_node = std::max<std::int64_t>(1, hardware.a_node / std::max<std::int64_t>(stride, 1));
    return {ranks, std::min(ranks, a_node)};
}

Seconds all_reduce_time(const Hardware& h, const Group& group, double bytes, CollectiveKind kind) {
    if (group.ranks <= 1) return 0;
    const double n = as_double(group.ranks);
    const auto ring = ring_of(h, group);
    if (kind == CollectiveKind::Tree) {
        const double rounds = 2 * std::ceil(std::log2(n));
        const Seconds hop = group.one_node() ? h.efficiency.node_hop : h.efficiency.nic_hop;
        return 2 * bytes / ring.rate + rounds * hop;
    }
    if (kind == CollectiveKind::Hierarchical && !group.one_node() && group.a_node > 1)
        return grouped_all_reduce_time(h, group, group.a_node, bytes);
    return 2 * ((n - 1) / n * bytes / ring.rate + ring.hops);
}

Seconds grouped_all_reduce_time(const Hardware& h, const Group& group, std::int64_t inside, double bytes) {
    if (group.ranks <= 1) return 0;
    const bool possible = inside > 1 && inside < group.ranks && inside <= group.a_node &&
                          (group.ranks % inside == 0 || inside == group.a_node);
    if (!possible) return all_reduce_time(h, group, bytes, CollectiveKind::Flat);
    const double within = as_double(inside), groups = std::ceil(as_double(group.ranks) / within);
    const Seconds step = (within - 1) / within * bytes / node_rate(h) + (within - 1) * h.efficiency.node_hop;
    // Each rank of the group sends its own part: over its own network card between nodes, else over the node's link.
    const bool crosses = !group.one_node();
    const double rate = crosses ? std::min(node_rate(h), nic_rate(h)) : node_rate(h);
    const Seconds hop = crosses ? h.efficiency.nic_hop : h.efficiency.node_hop;
    return 2 * step + 2 * (groups - 1) / groups * bytes / within / rate + 2 * (groups - 1) * hop;
}

Seconds all_reduce_time(const Hardware& h, const Group& group, double bytes) {
    Seconds best = all_reduce_time(h, group, bytes, CollectiveKind::Flat);
    best = std::min(best, all_reduce_time(h, group, bytes, CollectiveKind::Tree));
    return std::min(best, all_reduce_time(h, group, bytes, CollectiveKind::Hierarchical));
}

Seconds all_gather_time(const Hardware& h, const Group& group, double bytes) {
    if (group.ranks <= 1) return 0;
    const double n = as_double(group.ranks);
    const auto ring = ring_of(h, group);
    return (n - 1) / n * bytes / ring.rate + ring.hops;
}

Seconds all_to_all_time(const Hardware& h, const Group& group, double bytes) {
    if (group.ranks <= 1) return 0;
    const double n = as_double(group.ranks), inside = as_double(group.a_node);
    if (group.one_node()) return (n - 1) / n * bytes / node_rate(h) + (n - 1) * h.efficiency.node_hop;
    // Transfers inside and between nodes overlap; a card has a separate path to the network.
    const Seconds within = (inside - 1) / n * bytes / node_rate(h);
    const Seconds outside = (n - inside) / n * bytes / nic_rate(h);
    return std::max(within, outside) + std::ceil(n / inside) * h.efficiency.nic_hop;
}

Seconds send_time(const Hardware& h, bool in_node, double bytes) {
    return in_node ? bytes / node_rate(h) + h.efficiency.node_hop : bytes / nic_rate(h) + h.efficiency.nic_hop;
}

}  // namespace plimsoll
