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

std::string either(std::int64_t less, std::int64_t more) {
    if (less < 1) return format_count(more);
    return more < 1 ? format_count(less) : fmt::format("{} or {}", format_count(less), format_count(more));
}

/// The nearest GPUs and batches that go together, where `dp` ranks cannot share the batch.
std::string nearest(const Layout& layout, std::int64_t dp) {
    const std::int64_t batch = layout.global_batch(), model_ranks = layout.tp * layout.pp * layout.cp;
    std::int64_t fewer = std::min(dp - 1, batch), more = dp + 1;
    while (fewer > 0 && batch % fewer != 0) --fewer;
    while (more <= batch && batch % more != 0) ++more;
    if (more > batch) more = 0;
    const std::int64_t micro_batch = layout.micro_batch * dp <= batch ? layout.micro_batch : 1;
    const std::int64_t each = dp * micro_batch, less = batch / each;
    return fmt::format("take {} GPUs, or a global batch of {} (layout.micro_batch={} layout.accumulation={})",
                       either(fewer * model_ranks, more * model_ranks), either(less * each, (less + 1) * each),
                       micro_batch, either(less, less + 1));
}

}  // namespace

bool sets_global_batch(std::string_view key) {
    return key == "layout.dp" || key == "layout.micro_batch" || key == "layout.accumulation";
}

Result<Plan> with_gpus(Plan plan, std::int64_t gpus, std::vector<std::string>& notes, GlobalBatch batch) {
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
        if (batch == GlobalBatch::Stays)
            return bad_input("the global batch of {} sequences does not divide among {} data-parallel ranks: {}",
                             format_count(global_batch), format_count(dp), nearest(layout, dp));
        layout.dp = dp;
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
