// SPDX-License-Identifier: Apache-2.0
#include "core/estimate/training_plan.h"

#include <algorithm>
#include <array>

#include "core/estimate/estimate.h"
#include "core/plan/gpu.h"
#include "core/plan/starting_plan.h"

namespace plimsoll {

namespace {

constexpr double part_used = 0.9;

struct Saver {
    std::int64_t zero_stage;
    Recompute recompute;
};
/// From what costs nothing to what costs most: a ZeRO stage up to 2 moves no more bytes, recomputation takes up to a
/// third of the step, stage 3 half as many bytes again.
constexpr std::array savers{Saver{0, Recompute::None},      Saver{1, Recompute::None}, Saver{2, Recompute::None},
                            Saver{2, Recompute::Selective}, Saver{2, Recompute::Full}, Saver{3, Recompute::Selective},
                            Saver{3, Recompute::Full}};

bool fits(const Plan& plan) {
    const auto memory = estimate_memory(plan);
    return memory && static_cast<double>(memory->fullest().total()) <= part_used * static_cast<double>(memory->usable);
}

/// Cards from before bf16 train in fp16.
Dtype dtype_of(const Cluster& cluster) {
    const auto gpu = find_gpu(cluster.gpu);
    return gpu && gpu->bf16_tflops <= 0 && gpu->fp16_tflops > 0 ? Dtype::Fp16 : Dtype::Bf16;
}

}  // namespace

Plan training_plan(const Model& model, const Cluster& cluster) {
    Plan plan = starting_plan(model);
    const bool small = plan.numerics.dtype == Dtype::Fp32;
    const std::int64_t batch = plan.layout.global_batch();
    plan.cluster = cluster;
    Layout& layout = plan.layout;
    layout.dp = cluster.world_size();
    layout.accumulation = std::max<std::int64_t>(1, batch / (layout.dp * layout.micro_batch));
    if (small) return plan;
    if (!cluster.on_cpu()) plan.numerics.dtype = dtype_of(cluster);
    for (const Saver& saver : savers) {
        if (saver.zero_stage > 0 && layout.dp == 1 && saver.recompute == Recompute::None) continue;
        layout.zero_stage = layout.dp == 1 ? 0 : saver.zero_stage;
        layout.recompute = saver.recompute;
        if (fits(plan)) break;
    }
    return plan;
}

}  // namespace plimsoll
