// SPDX-License-Identifier: Apache-2.0
#include "core/planner/relax.h"

#include <algorithm>
#include <cmath>

#include "core/plan/gpu.h"
#include "core/planner/space.h"

namespace plimsoll {

namespace {

/// The best layout of a changed request, or nothing.
std::optional<Candidate> best_of(PlanRequest request) {
    request.keep = 1;
    if (request.objective == Objective::FewestGpus || request.objective == Objective::Cost)
        request.objective = Objective::Time;
    const auto all = pools(request);
    if (!all) return std::nullopt;
    const auto found = search(request, *all, {}, nullptr);
    const auto points = found.ranking.sorted();
    if (points.empty()) return std::nullopt;
    return candidate_of(request, *all, points.front());
}

bool any_layout(const PlanRequest& request, std::int64_t gpus, std::int64_t batch) {
    for (const auto& division : divisions(request, gpus, batch)) {
        if (zero_choices(request, division).empty() || sequence_choices(request, division).empty()) continue;
        for (const auto& schedule : schedule_choices(request, division))
            for (const auto micro_batch : micro_batch_choices(request, division, batch))
                if (schedule_possible(schedule, division.pp, batch / division.dp / micro_batch)) return true;
    }
    return false;
}

struct Limit {
    const char* name;
    void (*lift)(Choices&);
    bool (*set)(const Choices&);
};

#define PLIMSOLL_LIMIT(member, name)                                                                   \
    Limit {                                                                                            \
        name, [](Choices& c) { c.member.clear(); }, [](const Choices& c) { return !c.member.empty(); } \
    }
const Limit limits[] = {PLIMSOLL_LIMIT(zero_stage, "ZeRO stage"),
                        PLIMSOLL_LIMIT(recompute, "recomputation"),
                        PLIMSOLL_LIMIT(micro_batch, "micro-batch"),
                        PLIMSOLL_LIMIT(sequence_parallel, "sequence parallelism"),
                        PLIMSOLL_LIMIT(tp, "tp"),
                        PLIMSOLL_LIMIT(pp, "pp"),
                        PLIMSOLL_LIMIT(cp, "cp"),
                        PLIMSOLL_LIMIT(ep, "ep"),
                        PLIMSOLL_LIMIT(schedule, "schedule"),
                        PLIMSOLL_LIMIT(chunks, "chunks"),
                        PLIMSOLL_LIMIT(offload_optimizer, "offload of the optimizer")};
#undef PLIMSOLL_LIMIT

class Relaxer {
public:
    Relaxer(const PlanRequest& request, PlanResult& result) : request_(request), result_(result) {}

    bool offer(const PlanRequest& changed, std::string words, std::vector<std::string> settings = {}) {
        auto best = best_of(changed);
        if (!best) return false;
        result_.relaxations.push_back({std::move(words), std::move(settings), std::move(best)});
        return true;
    }

    void lift_limits() {
        for (const auto& limit : limits) {
            if (!limit.set(request_.choices)) continue;
            auto changed = request_;
            limit.lift(changed.choices);
            offer(changed, fmt::format("no limit on {}", limit.name));
        }
        if (request_.headroom > 0) {
            auto changed = request_;
            changed.headroom = 0;
            offer(changed, fmt::format("no {:.0f} % of memory kept free", 100 * request_.headroom));
        }
    }

    void more_nodes() {
        auto changed = request_;
        auto& cluster = changed.plan.cluster;
        if (cluster.on_cpu()) return;
        const auto before = cluster.world_size();
        // First a whole node, then twice the nodes each time.
        if (cluster.nodes == 1 && cluster.gpus_per_node < 8) {
            while (cluster.gpus_per_node < 8) {
                cluster.gpus_per_node *= 2;
                if (offer(changed, fmt::format("{} GPUs instead of {}", cluster.world_size(), before),
                          {fmt::format("cluster.gpus_per_node={}", cluster.gpus_per_node)}))
                    return;
            }
        }
        if (cluster.internode_gbs <= 0) return;
        for (int doubling = 0; doubling < 7; ++doubling) {
            cluster.nodes *= 2;
            if (offer(changed, fmt::format("{} GPUs instead of {}", cluster.world_size(), before),
                      {fmt::format("cluster.nodes={}", cluster.nodes),
                       fmt::format("cluster.gpus_per_node={}", cluster.gpus_per_node)}))
                return;
        }
    }

    void shorter_sequences() {
        auto changed = request_;
        auto& length = changed.plan.data.sequence_length;
        while (length % 2 == 0 && length > 256) {
            length /= 2;
            if (offer(changed,
                      fmt::format("sequences of {} tokens instead of {} (changes the training)", length,
                                  request_.plan.data.sequence_length),
                      {fmt::format("data.sequence_length={}", length)}))
                return;
        }
    }

    void larger_gpus() {
        const auto own = find_gpu(request_.plan.cluster.gpu);
        if (!own) return;
        std::vector<Gpu> larger;
        for (const auto& gpu : gpu_catalogue())
            if (gpu.usable_gib > own->usable_gib && gpu.vendor == own->vendor &&
                (gpu.nvlink_gbs > 0 || own->nvlink_gbs <= 0))
                larger.push_back(gpu);
        std::stable_sort(larger.begin(), larger.end(),
                         [](const Gpu& a, const Gpu& b) { return a.usable_gib < b.usable_gib; });
        for (const auto& gpu : larger) {
            auto changed = request_;
            changed.plan.cluster.gpu = gpu.name;
            changed.plan.cluster.usable_gib = 0;
            if (offer(changed, fmt::format("{} instead of {}", gpu.name, own->name),
                      {fmt::format("cluster.gpu={}", gpu.name), "cluster.usable_gib=0"}))
                return;
        }
    }

    void other_batches(std::int64_t gpus) {
        const auto batch = global_batch_of(request_);
        int offers = 0;
        for (const int direction : {-1, 1})
            for (std::int64_t off = 1; off <= 4096 && batch + direction * off >= 1; ++off) {
                const auto other = batch + direction * off;
                if (!any_layout(request_, gpus, other)) continue;
                auto changed = request_;
                changed.global_batch = other;
                offers += offer(changed, fmt::format("a global batch of {} instead of {}", other, batch)) ? 1 : 0;
                break;
            }
    }

private:
    const PlanRequest& request_;
    PlanResult& result_;
};

}  // namespace

void relax(const PlanRequest& request, const std::vector<Pool>& pools, PlanResult& result) {
    Relaxer relaxer(request, result);
    const auto& pool = pools.back();
    const auto gpus = pool.cluster.world_size();
    const auto batch = global_batch_of(request);
    if (result.counts.layouts == 0) {
        auto free = request;
        free.choices = {};
        const bool without_limits = any_layout(free, gpus, batch);
        result.binding =
            without_limits
                ? fmt::format("no layout of {} GPUs keeps to the limits on its dimensions", gpus)
                : fmt::format(
                      "no layout deals a global batch of {} evenly over {} GPUs (dp has to divide it, and tp x "
                      "pp x cp the GPUs)",
                      batch, gpus);
        relaxer.lift_limits();
        relaxer.other_batches(gpus);
        return;
    }
    const auto least = result.leanest ? result.leanest->peak : 0;
    result.binding = fmt::format("memory: the leanest of {} layouts needs {} a rank, and {} is usable",
                                 format_count(result.counts.layouts), format_bytes(least), format_bytes(pool.usable));
    relaxer.lift_limits();
    relaxer.more_nodes();
    relaxer.larger_gpus();
    relaxer.shorter_sequences();
}

}  // namespace plimsoll
