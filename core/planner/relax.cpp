// SPDX-License-Identifier: Apache-2.0
#include "core/planner/relax.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "core/frameworks/framework.h"
#include "core/plan/gpu.h"
#include "core/planner/fit_limit.h"
#include "core/planner/framework_rules.h"
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

/// The first layout of the space that `takes` takes.
template <class Takes>
std::optional<Layout> first_layout(const PlanRequest& request, std::int64_t gpus, std::int64_t batch, Takes&& takes) {
    const auto modes = recompute_choices(request);
    for (const auto& division : divisions(request, gpus, batch))
        for (const auto& schedule : schedule_choices(request, division))
            for (const auto& zero : zero_choices(request, division))
                for (const bool sequence : sequence_choices(request, division))
                    for (const auto micro_batch : micro_batch_choices(request, division, batch)) {
                        if (!schedule_possible(schedule, division.pp, batch / division.dp / micro_batch)) continue;
                        for (const auto mode : modes) {
                            const auto layout =
                                layout_of(request, division, schedule, zero, sequence, micro_batch, batch, mode);
                            if (takes(layout)) return layout;
                        }
                    }
    return std::nullopt;
}

bool any_layout(const PlanRequest& request, std::int64_t gpus, std::int64_t batch) {
    const auto trains = [&](const Layout& layout) {
        return refusal_of(request.framework, request.plan, layout) == nullptr;
    };
    return first_layout(request, gpus, batch, trains).has_value();
}

/// Why the framework trains none of the layouts that are possible; empty where there is none to begin with.
std::string refused(const PlanRequest& request, std::int64_t gpus, std::int64_t batch) {
    std::vector<std::string_view> reasons;
    (void)first_layout(request, gpus, batch, [&](const Layout& layout) {
        const char* reason = refusal_of(request.framework, request.plan, layout);
        if (reason && std::find(reasons.begin(), reasons.end(), reason) == reasons.end()) reasons.emplace_back(reason);
        return false;
    });
    return fmt::format("{}", fmt::join(reasons, "; "));
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
        if (request_.fit_probability > 0) {
            auto changed = request_;
            changed.fit_probability = 0;
            if (offer(changed, ""))
                result_.relaxations.back().words = fmt::format(
                    "{:.0f} % chance of fitting instead of {:g} %",
                    100 * (1 - result_.relaxations.back().candidate->out_of_memory), 100 * request_.fit_probability);
        }
        if (request_.host_memory > 0) {
            auto changed = request_;
            changed.host_memory = 0;
            if (offer(changed, ""))
                result_.relaxations.back().words =
                    fmt::format("{} of host memory a machine instead of {}",
                                format_bytes(host_of_machine(*result_.relaxations.back().candidate)),
                                format_bytes(request_.host_memory));
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

std::string binding_memory(const PlanRequest& request, const Pool& pool, bool host_binds, const PlanResult& result) {
    const auto layouts = format_count(result.counts.layouts);
    if (host_binds)
        return fmt::format("host memory: of {} layouts, those that fit the GPUs offload more than the {} of a machine",
                           layouts, format_bytes(request.host_memory));
    const auto least = result.leanest ? result.leanest->peak : 0;
    auto words = fmt::format("memory: the leanest of {} layouts needs {} a rank, and {} is usable", layouts,
                             format_bytes(least), format_bytes(pool.usable));
    if (least > pool.usable || pool.limit == pool.usable) return words;
    return words + fmt::format(", of which an estimate under {} may take {} to fit with {:g} %{}",
                               profile_of(request.framework).title, format_bytes(pool.limit),
                               100 * request.fit_probability,
                               request.headroom > 0 ? fmt::format(" and {:.0f} % free", 100 * request.headroom) : "");
}

}  // namespace

void relax(const PlanRequest& request, const std::vector<Pool>& pools, bool host_binds, PlanResult& result) {
    Relaxer relaxer(request, result);
    const auto& pool = pools.back();
    const auto gpus = pool.cluster.world_size();
    const auto batch = global_batch_of(request);
    if (result.counts.layouts == 0) {
        auto free = request;
        free.choices = {};
        if (const auto why = refused(request, gpus, batch); !why.empty()) {
            result.binding = fmt::format("{} {}", profile_of(request.framework).title, why);
            relaxer.lift_limits();
            return;
        }
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
    result.binding = binding_memory(request, pool, host_binds, result);
    relaxer.lift_limits();
    relaxer.more_nodes();
    relaxer.larger_gpus();
    relaxer.shorter_sequences();
}

}  // namespace plimsoll
