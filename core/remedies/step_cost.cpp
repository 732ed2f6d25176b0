// SPDX-License-Identifier: Apache-2.0
#include "core/remedies/step_cost.h"

#include <algorithm>
#include <numeric>

#include "core/plan/gpu.h"
#include "core/plan/parameters.h"
#include "core/plan/recompute.h"
#include "core/schedule/closed_form.h"
#include "core/schedule/layer_flops.h"
#include "core/schedule/schedule.h"

namespace plimsoll {

namespace {

constexpr double achieved = 0.5;              // of the datasheet's matrix peak
constexpr double cpu_adam_seconds = 0.25e-9;  // a parameter and node
constexpr double giga = 1e9, tera = 1e12;
constexpr StepRates cpu_core{50 * giga, 10 * giga, 4 * giga, 1 * giga, 10 * giga};

double number(std::int64_t value) { return static_cast<double>(value); }

/// PCIe x16, one direction: 1 GB/s a lane for generation 3, twice that with each.
double pcie(std::int64_t generation) {
    double rate = 16 * giga;
    for (auto g = std::int64_t{3}; g < std::clamp<std::int64_t>(generation, 3, 6); ++g) rate *= 2;
    return rate;
}

double peak_tflops(const Gpu& gpu, Dtype dtype) {
    const double half = dtype == Dtype::Bf16 ? gpu.bf16_tflops : dtype == Dtype::Fp16 ? gpu.fp16_tflops : 0;
    return half > 0 ? half : gpu.fp32_tflops;
}

/// Ring collectives over n ranks pass (n - 1) / n of the bytes on.
double ring(std::int64_t ranks) { return number(ranks - 1) / number(std::max<std::int64_t>(ranks, 1)); }

/// Sizes of the mean rank.
struct Sizes {
    explicit Sizes(const Plan& plan)
        : layout(plan.layout),
          e(plan.numerics.dtype == Dtype::Fp32 ? 4 : 2),
          micro_batches(number(layout.accumulation)),
          decoders(plan.model.num_layers),
          encoders(plan.model.encoder_decoder() ? plan.model.num_layers : 0),
          layers(number(decoders + encoders) / number(layout.pp)),
          tokens(number(layout.micro_batch) * number(plan.data.sequence_length) / number(layout.cp)),
          hidden(number(plan.model.hidden_size)) {
        const auto counts = count_parameters(plan.model);
        const double experts = number(counts.expert) * number(plan.model.num_experts) * number(decoders);
        const double dense = number(counts.total) - experts;
        weights = (dense + experts / number(layout.ep)) / number(layout.tp * layout.pp);
        shards = layout.dp * layout.cp;
        again = layout.recompute == Recompute::None
                    ? 0
                    : number(recomputed_layers(layout, 0, decoders + encoders, 0)) / number(decoders + encoders);
        if (layout.recompute_stages > 0) again *= number(layout.recompute_stages) / number(layout.pp);
    }

    const Layout& layout;
    double e, micro_batches;
    std::int64_t decoders, encoders;
    double layers;  ///< a rank
    double tokens;  ///< a micro-batch
    double hidden;
    double weights = 0;  ///< parameters a rank works with
    double again = 0;    ///< share of the layers that recompute
    std::int64_t shards = 1;
};

void compute(const Plan& plan, const Sizes& z, const StepRates& rates, StepCost& cost) {
    const auto decoder = layer_flops(plan, true), encoder = layer_flops(plan, false);
    const double all = number(z.decoders) * decoder.total() + number(z.encoders) * encoder.total();
    const double again = number(z.decoders) * recomputed_flops(decoder, z.layout.recompute) +
                         number(z.encoders) * recomputed_flops(encoder, z.layout.recompute);
    const double head = 2 * z.hidden * number(plan.model.vocab_size);
    const double per_flop = z.tokens * z.micro_batches / number(z.layout.tp * z.layout.pp) / rates.flops;
    cost.of(StepPart::Matmuls) = 3 * (all + head) * per_flop;
    cost.of(StepPart::Recompute) = z.again * again * per_flop;

    const double head_weights = z.hidden * number(plan.model.vocab_size) / number(z.layout.tp * z.layout.pp);
    cost.of(StepPart::Weights) =
        z.micro_batches * 3 * z.e * (z.weights + number(z.layout.loss_chunks - 1) * head_weights) / rates.memory;
    if (plan.numerics.attention == Attention::Eager) {
        const double scores =
            z.tokens * number(plan.data.sequence_length) * number(plan.model.num_heads) / number(z.layout.tp);
        cost.of(StepPart::Attention) = z.micro_batches * z.layers * (10 + 4 * z.again) * z.e * scores / rates.memory;
    }
}

void links(const Plan& plan, const Sizes& z, const StepRates& rates, StepCost& cost) {
    const Layout& layout = z.layout;
    const auto link = [&](std::int64_t ranks) {
        return ranks > plan.cluster.gpus_per_node ? rates.internode_link : rates.node_link;
    };
    const double data_link = link(layout.tp * layout.cp * layout.dp);
    const double gradients = z.weights * (plan.numerics.dtype != Dtype::Fp32 && plan.numerics.fp32_gradients ? 4 : z.e);
    const double parameters = z.weights * z.e;
    const double sent = layout.zero_stage <= 1   ? gradients + parameters
                        : layout.zero_stage == 2 ? z.micro_batches * gradients + parameters
                                                 : z.micro_batches * (gradients + 2 * parameters);
    cost.of(StepPart::Data) = ring(z.shards) * sent / data_link;

    const double activation = z.e * z.tokens * z.hidden;
    // Full recomputation sums both branches again; the sublayers' ends are left out, and with sequence parallelism
    // their inputs are gathered again (half a sum each).
    const double repeated = layout.recompute == Recompute::Full                              ? 2
                            : layout.recompute == Recompute::Mlp && layout.sequence_parallel ? 1
                                                                                             : 0;
    cost.of(StepPart::Tensor) =
        z.micro_batches * z.layers * (4 + repeated * z.again) * 2 * ring(layout.tp) * activation / link(layout.tp);
    if (layout.pp > 1)
        cost.of(StepPart::Pipeline) = z.micro_batches * 2 * activation / number(layout.tp) / link(layout.world_size());
    const double kv =
        z.e * z.tokens * 2 * number(plan.model.num_kv_heads) * number(plan.model.head_size()) / number(layout.tp);
    // Each rank sees every other's keys and values in the forward, and again with their gradients in the backward.
    cost.of(StepPart::Context) =
        z.micro_batches * z.layers * 3 * number(layout.cp - 1) * kv / link(layout.tp * layout.cp);
    if (layout.ep > 1)
        cost.of(StepPart::Experts) = z.micro_batches * z.layers * 4 * ring(layout.ep) *
                                     number(plan.model.experts_per_token) * activation / data_link;
}

void host_and_update(const Plan& plan, const Sizes& z, const StepRates& rates, const MemoryEstimate& estimate,
                     StepCost& cost) {
    const Layout& layout = z.layout;
    const double own = z.weights / number(layout.zero_stage >= 1 ? z.shards : 1);
    double& host = cost.of(StepPart::Host);
    if (layout.offload_optimizer != Offload::None && plan.cluster.gpu != "cpu") {
        const double moves = layout.zero_stage >= 2 ? z.micro_batches : 1;
        const double node_ranks = number(std::min(plan.cluster.gpus_per_node, plan.cluster.world_size()));
        host += (moves * 4 + z.e) * own / rates.host_link + cpu_adam_seconds * own * node_ranks;
    } else {
        const double states = plan.optimizer.kind == OptimizerKind::AdamW8bit   ? 8 + 4
                              : plan.optimizer.kind == OptimizerKind::Sgd       ? 8 + 8
                              : plan.optimizer.kind == OptimizerKind::Adafactor ? 8
                                                                                : 8 + 16;
        cost.of(StepPart::Update) = own * (states + 2 * z.e) / rates.memory;
    }
    if (layout.offload_parameters != Offload::None)
        host += z.micro_batches * 2 * z.e * z.weights / number(z.shards) / rates.host_link;
    const double kept = number(estimate.fullest().activations_per_layer) * z.layers * z.micro_batches;
    if (layout.offload_activations) host += 2 * kept / rates.host_link;
    // A byte is an element: read in the dtype and written, then read and written back.
    if (layout.compress_activations) cost.of(StepPart::Recompute) += kept * 2 * (z.e + 1) / rates.memory;
}

/// How much longer the slowest pipeline rank computes than the mean one: all wait for it.
double imbalance(const Plan& plan) {
    if (plan.layout.pp <= 1) return 1;
    const auto times = relative_stage_times(plan);
    const auto where = stages_on_ranks(plan);
    std::vector<double> ranks(static_cast<std::size_t>(where.ranks));
    for (std::size_t stage = 0; stage < times.forward.size(); ++stage)
        ranks[static_cast<std::size_t>(where.rank_of(static_cast<int>(stage)))] +=
            times.forward[stage] + times.backward_input[stage] + times.backward_weight[stage];
    const double all = std::accumulate(ranks.begin(), ranks.end(), 0.0);
    return all > 0 ? *std::max_element(ranks.begin(), ranks.end()) * number(where.ranks) / all : 1;
}

double bubble_share(const Plan& plan) {
    const Layout& layout = plan.layout;
    if (layout.pp <= 1) return 0;
    const ScheduleShape shape{static_cast<int>(layout.pp), static_cast<int>(layout.accumulation),
                              static_cast<int>(chunks_per_rank(plan))};
    auto closed = closed_form_bubble(layout.schedule, shape, 1, 1, 1);
    // ZB-1p and ZB-2p are searched for and lose less than ZB-H1.
    if (!closed) closed = closed_form_bubble(Schedule::ZbH1, shape, 1, 1, 1);
    return closed ? std::clamp(closed->bubble, 0.0, 0.99) : 0;
}

}  // namespace

Seconds StepCost::total() const { return std::accumulate(parts.begin(), parts.end(), 0.0); }

StepRates step_rates(const Plan& plan) {
    if (plan.cluster.gpu == "cpu") return cpu_core;
    const auto gpu = find_gpu(plan.cluster.gpu);
    if (!gpu) return cpu_core;
    StepRates rates;
    rates.flops = achieved * tera * peak_tflops(*gpu, plan.numerics.dtype);
    rates.memory = giga * gpu->memory_gbs;
    rates.host_link = pcie(gpu->pcie_generation);
    rates.node_link = gpu->nvlink_gbs > 0 ? giga * gpu->nvlink_gbs / 2 : rates.host_link;
    rates.internode_link = giga * (plan.cluster.internode_gbs > 0 ? plan.cluster.internode_gbs : 1);
    return rates;
}

StepCost step_cost(const Plan& plan, const MemoryEstimate& estimate) {
    const Sizes sizes(plan);
    const auto rates = step_rates(plan);
    StepCost cost;
    compute(plan, sizes, rates, cost);
    links(plan, sizes, rates, cost);
    host_and_update(plan, sizes, rates, estimate, cost);
    const double bubble = bubble_share(plan);
    const double work = cost.of(StepPart::Matmuls) + cost.of(StepPart::Recompute) + cost.of(StepPart::Attention) +
                        cost.of(StepPart::Weights) + cost.of(StepPart::Tensor);
    cost.of(StepPart::Bubble) = work * (imbalance(plan) / (1 - bubble) - 1);
    return cost;
}

}  // namespace plimsoll
