// SPDX-License-Identifier: Apache-2.0
#include "core/step_time/collectives.h"

#include <algorithm>
#include <cmath>

namespace plimsoll {

namespace {

double number(std::int64_t value) { return static_cast<double>(value); }

double node_rate(const Hardware& h) { return h.node_link * h.efficiency.node_link; }
double nic_rate(const Hardware& h) { return h.nic * h.efficiency.nic; }

/// Rate and hop of a ring through all ranks of the group.
struct Ring {
    double rate;
    Seconds hops;  ///< once round
};
Ring ring_of(const Hardware& h, const Group& group) {
    const double n = number(group.ranks);
    if (group.one_node()) return {node_rate(h), (n - 1) * h.efficiency.node_hop};
    const double nodes = std::ceil(n / number(group.a_node));
    return {std::min(node_rate(h), number(group.a_node) * nic_rate(h)),
            nodes * h.efficiency.nic_hop + (n - nodes) * h.efficiency.node_hop};
}

}  // namespace

Group group_of(std::int64_t ranks, std::int64_t stride, const Hardware& hardware) {
    const auto a_node = std::max<std::int64_t>(1, hardware.a_node / std::max<std::int64_t>(stride, 1));
    return {ranks, std::min(ranks, a_node)};
}

Seconds all_reduce_time(const Hardware& h, const Group& group, double bytes, CollectiveKind kind) {
    if (group.ranks <= 1) return 0;
    const double n = number(group.ranks);
    const auto ring = ring_of(h, group);
    if (kind == CollectiveKind::Tree) {
        const double rounds = 2 * std::ceil(std::log2(n));
        const Seconds hop = group.one_node() ? h.efficiency.node_hop : h.efficiency.nic_hop;
        return 2 * bytes / ring.rate + rounds * hop;
    }
    if (kind == CollectiveKind::Hierarchical && !group.one_node() && group.a_node > 1) {
        const double inside = number(group.a_node), nodes = std::ceil(n / inside);
        const Seconds in_node = (inside - 1) / inside * bytes / node_rate(h) + (inside - 1) * h.efficiency.node_hop;
        return 2 * in_node + 2 * (nodes - 1) / nodes * bytes / inside / nic_rate(h) +
               2 * (nodes - 1) * h.efficiency.nic_hop;
    }
    return 2 * ((n - 1) / n * bytes / ring.rate + ring.hops);
}

Seconds all_reduce_time(const Hardware& h, const Group& group, double bytes) {
    Seconds best = all_reduce_time(h, group, bytes, CollectiveKind::Flat);
    best = std::min(best, all_reduce_time(h, group, bytes, CollectiveKind::Tree));
    return std::min(best, all_reduce_time(h, group, bytes, CollectiveKind::Hierarchical));
}

Seconds all_gather_time(const Hardware& h, const Group& group, double bytes) {
    if (group.ranks <= 1) return 0;
    const double n = number(group.ranks);
    const auto ring = ring_of(h, group);
    return (n - 1) / n * bytes / ring.rate + ring.hops;
}

Seconds all_to_all_time(const Hardware& h, const Group& group, double bytes) {
    if (group.ranks <= 1) return 0;
    const double n = number(group.ranks), inside = number(group.a_node);
    if (group.one_node()) return (n - 1) / n * bytes / node_rate(h) + (n - 1) * h.efficiency.node_hop;
    // Inside and outside run side by side; a card has its own way to the network.
    const Seconds within = (inside - 1) / n * bytes / node_rate(h);
    const Seconds outside = (n - inside) / n * bytes / nic_rate(h);
    return std::max(within, outside) + std::ceil(n / inside) * h.efficiency.nic_hop;
}

Seconds send_time(const Hardware& h, bool in_node, double bytes) {
    return in_node ? bytes / node_rate(h) + h.efficiency.node_hop : bytes / nic_rate(h) + h.efficiency.nic_hop;
}

}  // namespace plimsoll
