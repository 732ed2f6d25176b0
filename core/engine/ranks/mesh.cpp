// SPDX-License-Identifier: Apache-2.0
#include "core/engine/ranks/mesh.h"

#include <functional>

#include "core/engine/ranks/grouped_all_reduce.h"
#include "core/plan/schedule_kind.h"

namespace plimsoll::engine {

MeshPosition position_of(const Layout& layout, int rank) {
    const auto take = [&rank](std::int64_t size) {
        const int place = rank % static_cast<int>(size);
        rank /= static_cast<int>(size);
        return place;
    };
    MeshPosition position;
    position.tp = take(layout.tp);
    position.cp = take(layout.cp);
    position.dp = take(layout.dp);
    position.pp = rank;
    return position;
}

namespace {

/// The ranks whose position `same` accepts.
std::vector<int> ranks_where(const Layout& layout, const std::function<bool(const MeshPosition&)>& same) {
    std::vector<int> ranks;
    for (int rank = 0; rank < static_cast<int>(layout.world_size()); ++rank) {
        if (same(position_of(layout, rank))) ranks.push_back(rank);
    }
    return ranks;
}

}  // namespace

std::unique_ptr<Mesh> Mesh::alone() {
    auto mesh = std::unique_ptr<Mesh>(new Mesh());
    mesh->alone_ = single_rank();
    mesh->world_ = mesh->alone_.get();
    for (auto* group : {&mesh->tensor_, &mesh->context_, &mesh->pipeline_, &mesh->data_, &mesh->expert_,
                        &mesh->expert_data_, &mesh->shared_heads_, &mesh->ends_}) {
        *group = single_rank();
    }
    return mesh;
}

Result<std::unique_ptr<Mesh>> Mesh::make(const Plan& plan, Collectives& world) {
    const Layout& layout = plan.layout;
    const std::int64_t kv_heads = plan.model.num_kv_heads;
    auto mesh = std::unique_ptr<Mesh>(new Mesh());
    mesh->world_ = &world;
    mesh->position_ = position_of(layout, world.rank());
    const MeshPosition own = mesh->position_;
    const int ep = static_cast<int>(layout.ep);
    const int sharing = static_cast<int>(kv_heads < layout.tp ? layout.tp / kv_heads : 1);
    const int last = static_cast<int>(layout.pp) - 1;

    Result<void> made;
    const auto group = [&](const char* name, const auto& same) -> std::unique_ptr<Collectives> {
        if (!made) return nullptr;
        auto result = world.subgroup(name, ranks_where(layout, same));
        if (result) return std::move(*result);
        made = tl::unexpected(result.error());
        return nullptr;
    };
    const auto same_stage = [&](const MeshPosition& p) { return p.pp == own.pp; };
    // Every rank makes its groups in this order, because making a group waits for its other members.
    mesh->tensor_ = group("tensor-parallel",
                          [&](const MeshPosition& p) { return same_stage(p) && p.dp == own.dp && p.cp == own.cp; });
    mesh->shared_heads_ = group("shared-heads", [&](const MeshPosition& p) {
        return same_stage(p) && p.dp == own.dp && p.cp == own.cp && p.tp / sharing == own.tp / sharing;
    });
    mesh->context_ = group("context-parallel",
                           [&](const MeshPosition& p) { return same_stage(p) && p.dp == own.dp && p.tp == own.tp; });
    const auto same_weights = [&](const MeshPosition& p) { return same_stage(p) && p.tp == own.tp; };
    mesh->data_ = group("data-parallel", same_weights);
    const auto grouped = static_cast<int>(plan.training.all_reduce_group);
    if (made && grouped > 1 && grouped < mesh->data_->world_size()) {
        PLIMSOLL_TRY(auto two_levels,
                     grouped_all_reduce(std::move(mesh->data_), world, ranks_where(layout, same_weights), grouped));
        mesh->data_ = std::move(two_levels);
    }
    mesh->expert_ = group("expert-parallel", [&](const MeshPosition& p) {
        return same_stage(p) && p.tp == own.tp && p.cp == own.cp && p.dp / ep == own.dp / ep;
    });
    mesh->expert_data_ = group("expert-data-parallel", [&](const MeshPosition& p) {
        return same_stage(p) && p.tp == own.tp && p.dp % ep == own.dp % ep;
    });
    const auto same_column = [&](const MeshPosition& p) { return p.dp == own.dp && p.cp == own.cp && p.tp == own.tp; };
    mesh->pipeline_ = group("pipeline", same_column);
    if (made && layout.pp > 1) {
        const bool ring = takes_chunks(layout.schedule) && layout.chunks > 1;
        const auto directions = directions_along(static_cast<int>(layout.pp), ring);
        PLIMSOLL_TRY(mesh->pipeline_links_, MessageLinks::make("pipeline", world, *mesh->pipeline_,
                                                               ranks_where(layout, same_column), directions));
    }
    const bool at_end = own.pp == 0 || own.pp == last;
    mesh->ends_ = group("embedding", [&](const MeshPosition& p) {
        return same_column(p) && (at_end ? p.pp == 0 || p.pp == last : p.pp == own.pp);
    });
    if (!made) return tl::unexpected(made.error());
    return mesh;
}

}  // namespace plimsoll::engine
