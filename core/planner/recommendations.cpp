// SPDX-License-Identifier: Apache-2.0
// Common advice for a model of this size, beside the search's results.
#include "core/planner/recommendations.h"

#include <algorithm>

#include "core/plan/adapter.h"
#include "core/plan/gpu.h"
#include "core/plan/parameters.h"
#include "core/planner/layout_text.h"

namespace plimsoll {

namespace {

constexpr auto guide = "the guide's table of model sizes";

bool is_ampere_or_later(const Gpu& gpu) { return gpu.bf16_tflops > 0; }

std::string best_words(const PlanResult& result) {
    const auto& best = result.ranked.front();
    return fmt::format("here: {} on {} {}, {} a rank", layout_words(best.layout), best.gpus(), best.cluster.gpu,
                       format_bytes(best.peak));
}

void by_size(const PlanRequest& request, const PlanResult& result, double billions, std::vector<Recommendation>& all) {
    const auto& cluster = request.plan.cluster;
    // The rules are of training all weights, and hold or differ beside a layout that was found.
    if (result.ranked.empty() || adapts(request.plan)) return;
    const auto least = [&] {
        std::int64_t gpus = cluster.world_size();
        for (const auto& c : result.ranked) gpus = std::min(gpus, c.gpus());
        for (const auto& c : result.front) gpus = std::min(gpus, c.gpus());
        return gpus;
    }();
    if (billions <= 7.5) {
        const bool alone = least == 1;
        all.push_back({"up to 7B: one A100 80GB", guide, alone,
                       alone
                           ? best_words(result)
                           : fmt::format("full training with AdamW in mixed precision takes 16 B a parameter, {:.0f} "
                                         "GB of states; one card holds them only with the optimizer on the host, in 8 "
                                         "bits or sharded; {}",
                                         16 * billions, best_words(result))});
    } else if (billions <= 34) {
        const bool holds = least >= 4 && least <= 8;
        all.push_back({"13 to 30B: 4 to 8 H100", guide, holds,
                       fmt::format("states of {:.0f} GB over the cards; {}", 16 * billions, best_words(result))});
    }
    if (billions >= 65 && billions < 900) {
        const auto& best = result.ranked.front().layout;
        const bool holds = best.zero_stage == 3;
        const bool splits = best.tp * best.pp > 1;
        all.push_back({"70B and up: FSDP or ZeRO-3", guide, holds,
                       !holds && splits
                           ? fmt::format("tensor and pipeline parallelism split the parameters as well, and send less "
                                         "than gathering them for each micro-batch; {}",
                                         best_words(result))
                           : best_words(result)});
    }
    if (billions >= 900) {
        const bool holds = result.ranked.front().layout.tp == 8 && result.ranked.front().layout.pp == 16;
        all.push_back({"a trillion parameters: 64 data x 8 tensor x 16 pipeline parallel", guide, holds,
                       holds ? best_words(result)
                             : fmt::format("8 x 16 ranks hold {:.1f} B parameters each; {}", billions / 128,
                                           best_words(result))});
    }
}

}  // namespace

std::vector<Recommendation> recommendations(const PlanRequest& request, const PlanResult& result) {
    std::vector<Recommendation> all;
    const double billions = static_cast<double>(count_parameters(request.plan.model).total) / 1e9;
    by_size(request, result, billions, all);
    const auto& cluster = request.plan.cluster;
    if (const auto gpu = find_gpu(cluster.gpu); gpu && !cluster.on_cpu()) {
        const bool bf16 = request.plan.numerics.dtype == Dtype::Bf16;
        if (is_ampere_or_later(*gpu))
            all.push_back(
                {"bf16 rather than fp16 from Ampere on", guide, bf16,
                 bf16 ? "no loss scaling is needed: bf16 has fp32's range"
                      : fmt::format("the {} has bf16 units; set numerics.dtype to bf16, which needs no loss scaling",
                                    gpu->name)});
        else
            all.push_back({"bf16 rather than fp16 from Ampere on", guide, !bf16,
                           fmt::format("the {} has no bf16 units: fp16 with loss scaling", gpu->name)});
    }
    if (!result.ranked.empty()) {
        const auto& best = result.ranked.front();
        const bool inside = best.layout.tp <= best.cluster.gpus_per_node;
        if (best.layout.tp > 1 || !inside)
            all.push_back({"tensor parallelism within a node", "Narayanan 2021, takeaway 1", inside,
                           inside ? fmt::format("tp {} of {} GPUs per node", best.layout.tp, best.cluster.gpus_per_node)
                                  : fmt::format("tp {} spans nodes of {} GPUs: no smaller one fits or is faster",
                                                best.layout.tp, best.cluster.gpus_per_node)});
        if (best.layout.pp > 1) {
            const bool enough = best.layout.accumulation >= 4 * best.layout.pp;
            all.push_back({"four micro-batches per pipeline stage or more", "GPipe (Huang 2019), section 2.3", enough,
                           fmt::format("{} micro-batches over {} stages", best.layout.accumulation, best.layout.pp)});
        }
    }
    return all;
}

}  // namespace plimsoll
