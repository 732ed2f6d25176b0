// SPDX-License-Identifier: Apache-2.0
#include "core/frameworks/workload.h"

#include <algorithm>

#include "core/estimate/activations.h"
#include "core/plan/schedule_kind.h"
#include "core/schedule/plan_pipeline/in_flight.h"

namespace plimsoll {
namespace {

/// Megatron-LM's warm-up: 2 (p - rank - 1) + (v - 1) g + 1 chunk micro-batches (schedules.py), g the micro-batches that
/// a chunk runs in a row: p, or all where p does not divide them.
double alive_of(const Workload& work, std::int64_t rank) {
    const auto p = work.layout.pp, m = work.micro_batches(), v = work.chunks();
    if (p == 1) return 1;
    if (!work.alive.empty())
        return static_cast<double>(work.alive[static_cast<std::size_t>(rank)]) / static_cast<double>(v);
    if (work.layout.schedule == Schedule::GPipe) return static_cast<double>(m);
    if (!takes_chunks(work.layout.schedule)) return static_cast<double>(std::min(m, p - rank));
    const auto group = m % p == 0 ? p : m;
    return static_cast<double>(std::min(m * v, 2 * (p - rank - 1) + (v - 1) * group + 1)) / static_cast<double>(v);
}

}  // namespace

std::int64_t Workload::expert_ranks() const {
    return std::max<std::int64_t>(layout.dp * layout.cp * layout.tp / (layout.ep * expert_tp()), 1);
}

std::int64_t Workload::chunks() const { return layout.pp > 1 ? chunks_of(layout.schedule, layout.chunks) : 1; }

StepLoop step_loop_of(Framework framework, OptimizerKind optimizer) {
    // The Trainer's adamw_torch and sgd, and DeepSpeed's SGD, are torch.optim's with its defaults.
    const bool torch =
        framework == Framework::HfTrainer || (framework == Framework::DeepSpeed && optimizer == OptimizerKind::Sgd);
    return torch ? StepLoop::Foreach : StepLoop::Fused;
}

std::int64_t padded(std::int64_t size, std::int64_t multiple) { return (size + multiple - 1) / multiple * multiple; }

Workload workload_of(const Plan& plan, Framework framework) {
    Workload work;
    work.model = plan.model;
    work.layout = plan.layout;
    work.numerics = plan.numerics;
    work.optimizer = plan.optimizer;
    work.pure_half = plan.numerics.half() && plan.numerics.weights == WeightCopies::Pure;
    work.sequence = plan.data.sequence_length;
    const bool pads = framework == Framework::Megatron;
    work.vocabulary = padded(plan.model.vocab_size, pads ? 128 * plan.layout.tp : plan.layout.tp);
    if (plan.model.encoder_decoder()) {
        work.encoder_layers = plan.model.num_layers;
        work.encoder_sequence = plan.data.sequence_length;
    }
    work.compiled = framework == Framework::TorchTitan;
    work.fused_gate = work.compiled || framework == Framework::Megatron;
    if (plan.layout.loss_chunks > 1) {
        work.loss = LossKind::ChunkedHead;
        work.loss_pieces = plan.layout.loss_chunks;
    } else if (framework == Framework::TorchTitan) {
        work.loss = LossKind::Fused;
    }
    work.step = step_loop_of(framework, plan.optimizer.kind);
    if (framework == Framework::HfTrainer && adapts(plan)) {
        // Autocast is over a model in fp32. It keeps no cast of a frozen weight: only of those that need a gradient.
        const bool fp32 = plan.numerics.weights == WeightCopies::Autocast;
        const Dtype base = fp32 ? Dtype::Fp32 : plan.numerics.dtype;
        work.adapters = {plan.adapter.rank, static_cast<double>(bytes_of(base)), adapted_matrices(plan)};
    }
    work.selective_ops = framework == Framework::TorchTitan && plan.layout.recompute == Recompute::Selective;
    if (plan.layout.pp > 1)
        if (auto alive = peaks_in_flight(plan)) work.alive = *std::move(alive);
    return work;
}

std::vector<StageShare> stage_shares(const Workload& work) {
    const auto p = work.layout.pp, v = work.chunks(), stages = p * v, layers = work.model.num_layers;
    const bool counts_ends = layers % stages != 0 && (layers + 2) % stages == 0;
    std::vector<StageShare> shares;
    std::int64_t next = 0;
    for (std::int64_t rank = 0; rank < p; ++rank) {
        StageShare share;
        share.rank = rank;
        share.first = rank == 0;
        share.last = rank == p - 1;
        share.layers = counts_ends ? (layers + 2) / p : layers / p + (rank < layers % p ? 1 : 0);
        if (counts_ends) share.layers -= (share.first ? 1 : 0) + (share.last ? 1 : 0);
        if (share.first) share.encoder_layers = work.encoder_layers;
        const auto dense = std::clamp<std::int64_t>(work.expert.dense_layers - next, 0, share.layers);
        share.routed = work.model.moe() ? share.layers - dense : 0;
        share.alive = alive_of(work, rank);
        // The last chunk holds one layer less, and one micro-batch of this chunk is alive.
        share.kept_layers = counts_ends && share.last && p > 1
                                ? share.alive * static_cast<double>(v) * static_cast<double>((layers + 2) / stages) - 1
                                : share.alive * static_cast<double>(share.layers);
        next += share.layers;
        shares.push_back(share);
    }
    return shares;
}

}  // namespace plimsoll
