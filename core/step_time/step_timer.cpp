// SPDX-License-Identifier: Apache-2.0
#include "core/step_time/step_timer.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "core/base/kept.h"
#include "core/estimate/terms.h"
#include "core/plan/recompute_rules.h"
#include "core/schedule/schedule.h"
#include "core/schedule/stage_times.h"
#include "core/step_time/collective_time.h"
#include "core/step_time/layer_time.h"
#include "core/step_time/pipeline_time.h"

namespace plimsoll {

namespace {

auto layer_key(const Layout& l) {
    return std::tuple(l.micro_batch, l.tp, l.cp, l.ep, l.sequence_parallel, l.compress_activations,
                      l.offload_activations);
}
/// A split by time also depends on the values that the times depend on.
auto stages_key(const Layout& l) {
    const bool even = l.split == Split::Even;
    return std::tuple(l.pp, l.tp, l.ep, l.schedule, l.chunks, l.split, l.recompute_stages, l.recompute_every,
                      l.recompute, even ? 0 : l.cp, even ? 0 : l.micro_batch);
}

struct LayerParts {
    LayerTime decoder, encoder;
    EndsTime ends;
    double kept_bytes = 0;  ///< bytes that one decoder layer keeps without recomputation
};

/// Pipeline ranks that hold the same layers.
struct Stage {
    std::int64_t ranks = 1, layers = 0, encoders = 0, recomputed = 0, recomputed_encoders = 0;
    bool first = false, last = false;
    bool operator==(const Stage& other) const {
        return layers == other.layers && encoders == other.encoders && recomputed == other.recomputed &&
               recomputed_encoders == other.recomputed_encoders && first == other.first && last == other.last;
    }
};

struct Stages {
    std::vector<Stage> kinds;
    double dense = 0, experts = 0;          ///< trained parameters of the rank that holds most
    double all_dense = 0, all_experts = 0;  ///< the same with frozen parameters
    std::int64_t layers = 1;                ///< of the rank that holds most
};

PassTime times(const PassTime& pass, double n) {
    return {n * pass.matmul,  n * pass.attention, n * pass.elementwise, n * pass.tensor,
            n * pass.context, n * pass.expert,    n * pass.host};
}

/// One micro-batch on a rank of a pipeline stage.
struct StageWork {
    PassTime pass;  ///< forward and both gradients
    Seconds forward = 0, backward_input = 0, backward_weight = 0, again = 0;
    Seconds total() const { return forward + backward_input + backward_weight; }
};

StageWork work_of(const Stage& stage, const LayerParts& parts, Recompute recompute) {
    StageWork work;
    const auto add = [&](const LayerTime& layer, double layers, double recomputed) {
        const auto forward = times(layer.forward, layers), input = times(layer.backward_input, layers),
                   weight = times(layer.backward_weight, layers);
        const Seconds again = recomputed * layer.again[static_cast<std::size_t>(recompute)];
        work.pass += forward;
        work.pass += input;
        work.pass += weight;
        work.again += again;
        work.forward += forward.total();
        work.backward_input += input.total() + again;
        work.backward_weight += weight.total();
    };
    add(parts.decoder, as_double(stage.layers - stage.encoders), as_double(stage.recomputed));
    if (stage.encoders > 0) add(parts.encoder, as_double(stage.encoders), as_double(stage.recomputed_encoders));
    const auto end = [&](const PassTime& pass, Seconds& part) {
        work.pass += pass;
        part += pass.total();
    };
    if (stage.first) {
        end(parts.ends.embedding, work.forward);
        end(parts.ends.embedding_backward, work.backward_weight);
    }
    if (stage.last) {
        end(parts.ends.head, work.forward);
        end(parts.ends.head_input, work.backward_input);
        end(parts.ends.head_weight, work.backward_weight);
    }
    return work;
}

}  // namespace

struct StepTimer::Impl {
    Plan plan;
    Hardware hardware;
    double element;   ///< bytes of an activation
    double weight;    ///< bytes of a weight
    double gradient;  ///< bytes of a gradient
    double travels;   ///< bytes of a gradient between ranks
    Kept<LayerParts, decltype(layer_key(Layout{}))> layers;
    Kept<Stages, decltype(stages_key(Layout{}))> stages;
    std::vector<RankWork> pipeline;

    Impl(const Plan& given, const Hardware& on) : plan(given), hardware(on) {
        const auto& n = plan.numerics;
        element = n.dtype == Dtype::Fp32 ? 4 : 2;
        weight = n.weight_dtype() == Dtype::Fp32 ? 4 : 2;
        gradient = n.gradient_dtype() == Dtype::Fp32 ? 4 : 2;
        travels = n.reduce_dtype == ReduceDtype::Gradient ? gradient : n.reduce_dtype == ReduceDtype::Fp32 ? 4 : 2;
    }

    const LayerParts& layer_parts() {
        return layers.get(layer_key(plan.layout), [&] {
            LayerParts parts;
            parts.decoder = layer_time(plan, hardware, true);
            if (plan.model.encoder_decoder()) parts.encoder = layer_time(plan, hardware, false);
            parts.ends = ends_time(plan, hardware);
            if (plan.layout.offload_activations || plan.layout.compress_activations)
                parts.kept_bytes = static_cast<double>(LayerActivations(plan).decoder[0].value());
            return parts;
        });
    }

    Stages make_stages() const {
        Stages made;
        for (const auto& slice : slices(plan)) {
            Stage stage{1, slice.layers, slice.encoder_layers, 0, 0, slice.first, slice.last};
            const auto encoders = plan.model.encoder_decoder() ? plan.model.num_layers : 0;
            stage.recomputed_encoders = slice.recomputed(plan.layout, plan.layout.recompute, 0, encoders);
            stage.recomputed =
                slice.recomputed(plan.layout, plan.layout.recompute, encoders, encoders + plan.model.num_layers);
            made.layers = std::max(made.layers, slice.layers);
            const Slice& trained = slice.trained();
            made.dense = std::max(made.dense, static_cast<double>(trained.dense().value()));
            made.experts = std::max(made.experts, static_cast<double>(trained.experts.value()));
            made.all_dense = std::max(made.all_dense, static_cast<double>(slice.dense().value()));
            made.all_experts = std::max(made.all_experts, static_cast<double>(slice.experts.value()));
            if (!made.kinds.empty() && made.kinds.back() == stage) {
                ++made.kinds.back().ranks;
            } else {
                made.kinds.push_back(stage);
            }
        }
        return made;
    }

    /// The part of a transfer that `window` of work does not hide.
    Seconds seen(Seconds transfer, Seconds window) const {
        const double overlap = hardware.efficiency.gradient_overlap;
        return std::max((1 - overlap) * transfer, transfer - overlap * window);
    }

    void data(const Stages& held, const StageWork& slowest, StepTime& time) const {
        const auto& l = plan.layout;
        const auto dense = group_of(l.dp * l.cp, l.tp, hardware);
        const auto experts = group_of(l.dp * l.cp / l.ep, l.tp * l.ep, hardware);
        // Each bucket is a collective of its own; ZeRO-3 gathers and reduces layer by layer.
        const double bucket = as_double(plan.training.bucket_mib) * as_double(MiB);
        const auto in_pieces = [&](auto&& collective, const Group& group, double bytes) {
            const double pieces = l.zero_stage == 3 ? as_double(held.layers) : std::max(1.0, std::ceil(bytes / bucket));
            return pieces * collective(hardware, group, bytes / pieces);
        };
        const auto sent = [&](auto&& collective, double of_dense, double of_experts) {
            return in_pieces(collective, dense, of_dense) +
                   (of_experts > 0 ? in_pieces(collective, experts, of_experts) : 0);
        };
        const auto both = [&](auto&& collective, double bytes) {
            return sent(collective, bytes * held.dense, bytes * held.experts);
        };
        const auto inside = plan.training.all_reduce_group;
        const auto reduce = [&](const Hardware& h, const Group& group, double bytes) {
            return inside > 0 ? grouped_all_reduce_time(h, group, inside, bytes) : all_reduce_time(h, group, bytes);
        };
        const auto half = [](const auto&... a) { return all_gather_time(a...); };
        const Seconds backward = slowest.backward_input + slowest.backward_weight;
        auto& links = time.of(TimePart::Data);
        const double m = as_double(l.accumulation);
        if (dense.ranks <= 1) return;
        if (l.zero_stage == 0) links = seen(both(reduce, travels), backward);
        if (l.zero_stage == 1) links = seen(both(half, travels), backward) + both(half, weight);
        if (l.zero_stage == 2) links = m * seen(both(half, travels), backward) + both(half, weight);
        if (l.zero_stage == 3) {
            const Seconds gather = sent(half, weight * held.all_dense, weight * held.all_experts);
            links = m * (seen(gather, slowest.forward) + seen(gather + both(half, travels), backward));
        }
    }

    void update(const Stages& held, StepTime& time) const {
        const auto& l = plan.layout;
        const Numerics& numerics = plan.numerics;
        const double shards = l.zero_stage >= 1 ? as_double(l.dp * l.cp) : 1;
        const double own =
            held.dense / shards + held.experts / (l.zero_stage >= 1 ? std::max(1.0, shards / as_double(l.ep)) : 1);
        const double state = plan.optimizer.state_dtype == Dtype::Fp32 ? 4 : 2;
        const double moments = plan.optimizer.kind == OptimizerKind::AdamW8bit ? 4
                               : plan.optimizer.kind == OptimizerKind::Sgd
                                   ? (plan.optimizer.momentum > 0 ? 2 * state : 0)
                               : plan.optimizer.kind == OptimizerKind::Adafactor ? 1
                                                                                 : 4 * state;
        // The update reads and writes masters (or the weights, and what rounding lost of them) and moments. Gradients
        // are scaled back (twice), measured, clipped (twice) and used.
        const bool pure = numerics.half() && numerics.weights == WeightCopies::Pure;
        const double weights =
            pure ? (numerics.has_compensation() ? 4 : 2) * weight : 8 + (numerics.has_masters() ? weight : 0);
        const double bytes = weights + moments + (numerics.half() ? 6 : 4) * gradient;
        if (l.offload_optimizer != Offload::None && !plan.cluster.on_cpu()) {
            const double moves = l.zero_stage >= 2 ? as_double(l.accumulation) : 1;
            const double ranks = as_double(std::min(hardware.a_node, l.world_size()));
            time.of(TimePart::Host) +=
                (moves * 4 + weight) * own / (hardware.host_link * hardware.efficiency.host_link) +
                own * ranks / hardware.host_update;
        } else {
            time.of(TimePart::Update) = bytes * own / (hardware.memory * hardware.efficiency.memory);
        }
        time.of(TimePart::Rest) = hardware.efficiency.step;
    }

    void host(const LayerParts& parts, const Stage& stage, const StageWork& work, const Stages& held,
              StepTime& time) const {
        const auto& l = plan.layout;
        const double link = hardware.host_link * hardware.efficiency.host_link, m = as_double(l.accumulation);
        if (l.offload_parameters != Offload::None)
            time.of(TimePart::Host) += m * 2 * weight * (held.dense + held.experts) / as_double(l.dp * l.cp) / link;
        const double kept = parts.kept_bytes * as_double(stage.layers);
        if (l.offload_activations)
            time.of(TimePart::Host) += m * (std::max(0.0, kept / link - work.forward) +
                                            std::max(0.0, kept / link - work.backward_input - work.backward_weight));
        // An element takes a byte when compressed: it is read in the dtype and written as a byte, then read and written
        // back.
        if (l.compress_activations)
            time.of(TimePart::Recompute) +=
                m * kept * 2 * (element + 1) / (hardware.memory * hardware.efficiency.memory);
    }
};

StepTimer::StepTimer(const Plan& plan, const Hardware& hardware) : impl_(std::make_unique<Impl>(plan, hardware)) {}
StepTimer::~StepTimer() = default;

StepTime StepTimer::time(const Layout& layout) {
    auto& self = *impl_;
    self.plan.layout = layout;
    self.plan.layout.schedule_file.clear();
    const auto& parts = self.layer_parts();
    const auto& held = self.stages.get(stages_key(layout), [&] { return self.make_stages(); });

    StageWork slowest;
    const Stage* busiest = &held.kinds.front();
    self.pipeline.clear();
    for (const auto& stage : held.kinds) {
        const auto work = work_of(stage, parts, layout.recompute);
        self.pipeline.push_back({stage.ranks, work.forward, work.backward_input, work.backward_weight});
        if (work.total() > slowest.total()) slowest = work, busiest = &stage;
    }
    const Seconds send = layout.pp > 1 ? stage_send_time(self.plan, self.hardware) : 0;
    const auto pipeline =
        pipeline_time(layout.schedule, self.pipeline, layout.accumulation, chunks_per_rank(self.plan), send);
    StepTime time;
    const double m = as_double(layout.accumulation);
    time.of(TimePart::Matmul) = m * slowest.pass.matmul;
    time.of(TimePart::Attention) = m * slowest.pass.attention;
    time.of(TimePart::Elementwise) = m * slowest.pass.elementwise;
    time.of(TimePart::Recompute) = m * slowest.again;
    time.of(TimePart::Launch) = m * slowest.pass.host;
    time.of(TimePart::Tensor) = m * slowest.pass.tensor;
    time.of(TimePart::Context) = m * slowest.pass.context;
    time.of(TimePart::Expert) = m * slowest.pass.expert;
    time.of(TimePart::Pipeline) = pipeline.sends;
    time.of(TimePart::Bubble) = pipeline.makespan - pipeline.slowest - pipeline.sends;
    self.data(held, slowest, time);
    self.update(held, time);
    self.host(parts, *busiest, slowest, held, time);
    return time;
}

Seconds StepTimer::at_least(const Layout& layout) {
    auto& self = *impl_;
    self.plan.layout = layout;
    const auto& parts = self.layer_parts();
    const auto layers = as_double(self.plan.model.num_layers);
    const bool every = layout.recompute_stages == 0 && layout.recompute_every <= 1;
    const auto of = [&](const LayerTime& t) {
        const Seconds again = every ? t.again[static_cast<std::size_t>(layout.recompute)] : 0;
        return t.forward.total() + t.backward() + again;
    };
    Seconds all = layers * of(parts.decoder);
    if (self.plan.model.encoder_decoder()) all += layers * of(parts.encoder);
    return as_double(layout.accumulation) * all / as_double(std::max<std::int64_t>(layout.pp, 1));
}

}  // namespace plimsoll
