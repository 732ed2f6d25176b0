// SPDX-License-Identifier: Apache-2.0
#include "core/plan/layout_change.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/base/units.h"

namespace plimsoll {

namespace {

/// As many as layout.dp may say: what is multiplied by it stays within 64 bits.
constexpr std::int64_t most_gpus = 1'048'576;

/// Shares the global batch among `dp` ranks: micro_batch stays where it can, accumulation makes up for the rest.
bool share_batch(Layout& layout, std::int64_t global_batch, std::int64_t dp) {
    if (global_batch % dp != 0) return false;
    const std::int64_t each = global_batch / dp;
    std::int64_t micro_batch = std::min(layout.micro_batch, each);
    while (each % micro_batch != 0) --micro_batch;
    layout.dp = dp;
    layout.micro_batch = micro_batch;
    layout.accumulation = each / micro_batch;
    return true;
}

}  // namespace

Result<Plan> with_gpus(Plan plan, std::int64_t gpus, std::vector<std::string>& notes) {
    const auto note = [&](std::string sentence) { notes.push_back(std::move(sentence)); };
    Layout& layout = plan.layout;
    const std::int64_t model_ranks = layout.tp * layout.pp * layout.cp;
    if (gpus < 1 || gpus > most_gpus)
        return bad_input("--gpus is {}: 1 to {} are allowed", gpus, format_count(most_gpus));
    if (model_ranks < 1 || gpus % model_ranks != 0) {
        return bad_input(
            "{} GPUs cannot be shared among tp x pp x cp = {} x {} x {}: take a multiple of {}, or change the "
            "layout with --set",
            gpus, layout.tp, layout.pp, layout.cp, model_ranks);
    }
    const std::int64_t dp = gpus / model_ranks;
    const std::int64_t global_batch = layout.global_batch();
    if (dp != layout.dp && !share_batch(layout, global_batch, dp)) {
        layout.dp = dp;
        note(fmt::format("the global batch of {} does not divide by dp = {}; it is {} now", global_batch, dp,
                         layout.global_batch()));
    }
    if (layout.ep > 0 && dp % layout.ep != 0) {
        const std::int64_t ep = std::gcd(dp, layout.ep);
        note(fmt::format("layout.ep is {} now: {} does not divide dp = {}", ep, layout.ep, dp));
        layout.ep = ep;
    }
    Cluster& cluster = plan.cluster;
    if (gpus == cluster.world_size()) return plan;
    std::int64_t per_node = std::min(gpus, std::max<std::int64_t>(cluster.nodes > 1 ? cluster.gpus_per_node : 8, 1));
    while (gpus % per_node != 0) --per_node;
    cluster.gpus_per_node = per_node;
    cluster.nodes = gpus / per_node;
    return plan;
}

Result<Plan> with_ranks(Plan plan, std::int64_t ranks) {
    if (ranks < 1 || ranks > 4096) return bad_input("--ranks is {}: 1 to 4,096 are allowed", ranks);
    const std::int64_t global_batch = plan.layout.global_batch();
    if (!share_batch(plan.layout, global_batch, ranks)) {
        return bad_input(
            "the global batch of {} sequences does not divide among {} ranks: choose a divisor of {}, or set "
            "layout.micro_batch and layout.accumulation with layout.dp={}",
            global_batch, ranks, global_batch, ranks);
    }
    plan.cluster.gpus_per_node = ranks;
    plan.cluster.nodes = 1;
    return plan;
}

}  // namespace plimsoll
