// SPDX-License-Identifier: Apache-2.0
#include "core/engine/ranks/message_links.h"

namespace plimsoll::engine {

namespace {

constexpr int sender = 0, receiver = 1;

}  // namespace

Result<MessageLinks> MessageLinks::make(const std::string& name, Collectives& world, Collectives& group,
                                        const std::vector<int>& members, const std::vector<Direction>& directions) {
    MessageLinks links;
    links.group_ = &group;
    const int own = group.rank();
    for (const auto& [from, to] : directions) {
        if (from != own && to != own) continue;
        PLIMSOLL_TRY(auto pair, world.one_way(name, members[static_cast<std::size_t>(from)],
                                              members[static_cast<std::size_t>(to)]));
        if (pair == nullptr) return links;
        (from == own ? links.to_[to] : links.from_[from]) = pair.get();
        links.pairs_.push_back(std::move(pair));
    }
    return links;
}

std::shared_ptr<Work> MessageLinks::send(torch::Tensor tensor, int peer, int tag) const {
    if (pairs_.empty()) return group_->send(std::move(tensor), peer, tag);
    return to_.at(peer)->send(std::move(tensor), receiver, tag);
}

std::shared_ptr<Work> MessageLinks::receive(torch::Tensor tensor, int peer, int tag) const {
    if (pairs_.empty()) return group_->receive(std::move(tensor), peer, tag);
    return from_.at(peer)->receive(std::move(tensor), sender, tag);
}

std::vector<Direction> directions_along(int ranks, bool ring) {
    std::vector<Direction> directions;
    const auto both = [&](int a, int b) {
        directions.push_back({a, b});
        directions.push_back({b, a});
    };
    for (int rank = 0; rank + 1 < ranks; ++rank) both(rank, rank + 1);
    if (ring && ranks > 2) both(ranks - 1, 0);
    return directions;
}

}  // namespace plimsoll::engine
