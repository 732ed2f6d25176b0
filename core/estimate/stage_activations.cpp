// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/estimate/end_activations.h"
#include "core/plan/adapter.h"

namespace plimsoll {
namespace {

constexpr auto korthikanti = "op by op; Korthikanti et al. 2022, table 2";
constexpr std::array modes{Recompute::None, Recompute::Selective, Recompute::Full, Recompute::Mlp};

// "norm input 16,384 + q, k and v 49,152 + …": equal ops of a layer are summed up, in the order of their first
// occurrence.
std::string written_out(const std::vector<SavedTensor>& tensors, Recompute mode) {
    std::vector<std::pair<std::string_view, Count>> sums;
    for (const auto& tensor : tensors) {
        if (kept({tensor}, mode) == 0) continue;
        const auto same =
            std::find_if(sums.begin(), sums.end(), [&](const auto& sum) { return sum.first == tensor.what; });
        if (same == sums.end())
            sums.emplace_back(tensor.what, tensor.bytes);
        else
            same->second += tensor.bytes;
    }
    std::string text;
    for (const auto& [what, bytes] : sums)
        text += fmt::format("{}{} {}", text.empty() ? "" : " + ", what, number(bytes));
    return text;
}

/// A rank's layers, counted by the tensors that they keep in `mode`.
struct LayerCounts {
    LayerCounts(const Plan& plan, const Slice& slice, Recompute mode) {
        const auto border = plan.model.encoder_decoder() ? plan.model.num_layers : 0;
        const auto all = border + plan.model.num_layers;
        encoders = slice.encoder_layers;
        decoders = slice.layers - slice.encoder_layers;
        encoders_again = slice.recomputed(plan.layout, mode, 0, border);
        decoders_again = slice.recomputed(plan.layout, mode, border, all);
    }
    std::int64_t encoders = 0, decoders = 0, encoders_again = 0, decoders_again = 0;
    std::int64_t again() const { return encoders_again + decoders_again; }
    std::int64_t whole() const { return encoders + decoders - again(); }
};

/// "32 layers × 17,000,000", or "16 layers × 1,000 + 16 recomputed × 10".
std::string layers_text(const char* what, std::int64_t layers, std::int64_t again, Count whole, Count recomputed) {
    if (again == 0 || again == layers)
        return fmt::format("{} {} × {}", layers, what, number(again == 0 ? whole : recomputed));
    return fmt::format("({} {} × {} + {} recomputed × {})", layers - again, what, number(whole), again,
                       number(recomputed));
}

std::string kept_text(const Plan& plan, const LayerActivations& layer, const Slice& slice, const InFlight& in_flight) {
    const auto m = static_cast<std::size_t>(plan.layout.recompute);
    const auto counts = LayerCounts(plan, slice, plan.layout.recompute);
    const auto count = in_flight.chunks == 1 ? fmt::format("{}", in_flight.alive)
                                             : fmt::format("{}/{}", in_flight.alive, in_flight.chunks);
    auto text =
        fmt::format("{} micro-batch{} in flight × {}", count, count == "1" ? "" : "es",
                    layers_text("layers", counts.decoders, counts.decoders_again, layer.decoder[0], layer.decoder[m]));
    if (counts.encoders > 0)
        text += fmt::format(
            " + {} × {}", count,
            layers_text("encoder layers", counts.encoders, counts.encoders_again, layer.encoder[0], layer.encoder[m]));
    if (plan.layout.compress_activations) text += ", floating-point numbers in 8 bits with a scale a block of 256";
    return text;
}

std::string ends_text(const Plan& plan, const Slice& slice, const InFlight& in_flight) {
    auto text = ends_formula(plan, slice, in_flight.micro_batches());
    if (plan.layout.pp > 1 && !slice.last && in_flight.alive > 1)
        text += fmt::format(" + {} outputs that wait × {}", in_flight.alive - 1, number(hidden_tensor(plan)));
    return text;
}

std::string layer_written_out(const Plan& plan, Recompute mode) {
    const auto kind = plan.model.encoder_decoder() ? LayerKind::T5Decoder : LayerKind::Decoder;
    const auto tensors = saved_tensors(plan, kind);
    return written_out(plan.layout.compress_activations ? compressed(tensors) : tensors, mode);
}

}  // namespace

LayerActivations::LayerActivations(const Plan& plan) {
    const bool t5 = plan.model.encoder_decoder(), packed = plan.layout.compress_activations;
    const auto tensors = saved_tensors(plan, t5 ? LayerKind::T5Decoder : LayerKind::Decoder);
    const auto encoder_tensors = t5 ? saved_tensors(plan, LayerKind::T5Encoder) : std::vector<SavedTensor>{};
    const auto stored = packed ? compressed(tensors) : tensors;
    const auto encoder_stored = packed ? compressed(encoder_tensors) : encoder_tensors;
    for (const auto mode : modes) {
        const auto m = static_cast<std::size_t>(mode);
        decoder[m] = kept(stored, mode);
        encoder[m] = kept(encoder_stored, mode);
        backward[m] = backward_peak(plan, tensors, mode);
        for (const auto& tensor : stored)
            if (tensor.routed) routed[m] += kept({tensor}, mode);
    }
}

namespace {

/// The bytes that the first norm saves where the embedding does not train, because no parameter before the norm needs a
/// gradient.
Count first_norm(const Plan& plan) {
    const NormPlacement placement = plan.model.norm_placement;
    const bool before = placement == NormPlacement::Pre || placement == NormPlacement::Sandwich;
    if (!adapts(plan) || !before) return 0;
    const auto split = plan.layout.sequence_parallel ? plan.layout.tp : 1;
    return hidden_tensor(plan) + share(statistic_bytes(plan) * tokens(plan), split);
}

Count kept_by(const Plan& plan, const Slice& slice, const LayerCounts& counts, const LayerActivations& layer,
              const InFlight& in_flight, Recompute mode) {
    const auto m = static_cast<std::size_t>(mode);
    const Count all = share(
        in_flight.alive *
            (counts.encoders_again * layer.encoder[m] + (counts.encoders - counts.encoders_again) * layer.encoder[0] +
             counts.decoders_again * layer.decoder[m] + (counts.decoders - counts.decoders_again) * layer.decoder[0]),
        in_flight.chunks);
    return slice.first && mode != Recompute::Full ? all - in_flight.micro_batches() * first_norm(plan) : all;
}

}  // namespace

Count kept_by_layers(const Plan& plan, const LayerActivations& layer, const Slice& slice, const InFlight& in_flight,
                     Recompute mode) {
    return kept_by(plan, slice, LayerCounts(plan, slice, mode), layer, in_flight, mode);
}

StageActivations stage_activations(const Plan& plan, const LayerActivations& layer, const Slice& slice,
                                   const InFlight& in_flight, Recompute mode) {
    const auto m = static_cast<std::size_t>(mode);
    const auto counts = LayerCounts(plan, slice, mode);
    StageActivations stage;
    stage.kept = kept_by(plan, slice, counts, layer, in_flight, mode);
    const Count decoders =
        counts.decoders_again * layer.decoder[m] + (counts.decoders - counts.decoders_again) * layer.decoder[0];
    stage.a_layer = share(decoders, std::max<std::int64_t>(counts.decoders, 1));
    stage.largest = counts.whole() > 0 ? std::max(layer.decoder[0], layer.encoder[0])
                                       : std::max(layer.decoder[m], layer.encoder[m]);
    stage.layers = plan.layout.offload_activations ? std::min(stage.kept, 2 * stage.largest) : stage.kept;
    if (slice.last) stage.loss = logits_peak(plan);
    // A stage keeps each output until its backward; the output in transfer counts among the buffers.
    if (plan.layout.pp > 1 && !slice.last) stage.ends += (in_flight.alive - 1) * hidden_tensor(plan);
    for (const auto& tensor : end_tensors(plan, slice)) {
        stage.ends += in_flight.micro_batches() * tensor.bytes;
        if (tensor.head) stage.loss += tensor.bytes;
    }
    // Layers behind the last recomputed layer have finished and freed their memory before its backward.
    const Count again =
        counts.again() > 0 ? layer.backward[m] - slice.whole_behind(plan.layout, mode) * layer.decoder[0] : Count(0);
    const Count whole = counts.whole() > 0 ? layer.backward[0] : Count(0);
    stage.needed = std::max(again, whole) + tied_gradient(plan, slice);
    stage.needed = std::max(stage.needed, final_norm_backward(plan, slice));
    if (counts.whole() > 0 || mode == Recompute::Selective) stage.needed = std::max(stage.needed, packing_peak(plan));
    stage.backward = stage.needed - stage.loss;
    return stage;
}

Term host_activations(const Plan& plan, const LayerActivations& layer, const Slice& slice, const InFlight& in_flight) {
    const auto stage = stage_activations(plan, layer, slice, in_flight, plan.layout.recompute);
    return {"host_activations",
            "Activations",
            Category::Activations,
            stage.kept.value(),
            kept_text(plan, layer, slice, in_flight),
            "all of them, as the first layer's leave last; vDNN (Rhu et al. 2016), ZeRO-Infinity (Rajbhandari et al. "
            "2021), section 5.1"};
}

void activation_terms(const Plan& plan, const LayerActivations& layer, const Slice& slice, const InFlight& in_flight,
                      const StageActivations& stage, TermSink& sink) {
    const auto mode = plan.layout.recompute;
    const auto counts = LayerCounts(plan, slice, mode);
    const bool recomputes = counts.again() > 0;

    sink.add("activations", Category::Activations, stage.layers, [&] {
        auto text = kept_text(plan, layer, slice, in_flight);
        if (plan.layout.offload_activations)
            text = fmt::format("at most two layers on their way = min(2 × {}, {}); all wait in host memory: {}",
                               number(stage.largest), number(stage.kept), text);
        return Words{recomputes ? fmt::format("Activations (recompute {})", name_of(mode)) : "Activations",
                     fmt::format("{}; a {}layer: {}", text, recomputes && counts.whole() > 0 ? "recomputed " : "",
                                 layer_written_out(plan, recomputes ? mode : Recompute::None)),
                     korthikanti};
    });
    if (stage.ends > 0)
        sink.add("end_activations", Category::Activations, stage.ends, [&] {
            return Words{"Embedding and final norm", ends_text(plan, slice, in_flight),
                         "op by op; Korthikanti et al. 2022, section 4.3"};
        });
    sink.add("layer_backward", Category::Activations, stage.backward, [&] {
        return Words{recomputes ? "One layer recomputed" : "One layer's backward",
                     slice.last
                         ? fmt::format("max(0, W − G) = max(0, {} − {}); W what one layer's backward needs{}, G the "
                                       "logits, final norm and head input freed before it",
                                       number(stage.needed), number(stage.loss),
                                       tied_gradient(plan, slice) > 0 ? " and the gradient of the tied head" : "")
                         : fmt::format("W = {}, what one layer's backward needs", number(stage.needed)),
                     "op by op (core/estimate/activations.h); Chen et al. 2016"};
    });
}

void imbalance_term(const Plan& plan, const LayerActivations& layer, const Slice& slice, const InFlight& in_flight,
                    TermSink& sink) {
    constexpr std::int64_t percent = 25;
    if (!plan.model.moe() || plan.layout.ep < 2 || plan.cluster.on_cpu() || plan.model.capacity_factor > 0) return;
    const auto m = static_cast<std::size_t>(plan.layout.recompute);
    const auto counts = LayerCounts(plan, slice, plan.layout.recompute);
    const Count kept = share(in_flight.alive * (counts.again() * layer.routed[m] + counts.whole() * layer.routed[0]),
                             in_flight.chunks);
    // Recomputed tensors exist for one layer at a time.
    const Count again = counts.again() > 0 ? layer.routed[0] - layer.routed[m] : Count(0);
    sink.add("routing_imbalance", Category::Activations, share(percent * (kept + again), 100), [&] {
        return Words{"Uneven routing",
                     fmt::format("{} % of what grows with the experts' rows = {} × ({} kept + {} computed again) / 100",
                                 percent, percent, number(kept), number(again)),
                     "assumed: the fullest rank gets a quarter more rows than its even share; torchtitan commit "
                     "91f6215ef measured 53.0 GiB with balanced and 70.0 with real routing"};
    });
}

}  // namespace plimsoll
