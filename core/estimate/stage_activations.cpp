// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/estimate/terms.h"

namespace plimsoll {
namespace {

constexpr auto korthikanti = "op by op; Korthikanti et al. 2022, table 2";
constexpr std::array modes{Recompute::None, Recompute::Selective, Recompute::Full};

std::string number(Count count) { return format_count(count.value()); }

// "norm input 16,384 + q, k and v 49,152 + …": equal ops of a layer together, in the order of their first.
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

std::int64_t sequence_split(const Layout& layout) { return layout.sequence_parallel ? layout.tp : 1; }

Count hidden_tensor(const Plan& plan) {
    return share(bytes_of(plan.numerics.dtype) * tokens(plan) * plan.model.hidden_size, sequence_split(plan.layout));
}

/// A tensor kept outside the layers, for one micro-batch.
struct EndTensor {
    std::string_view what;
    Count bytes;
    bool head = false;  ///< freed once the head's backward is done
};

// T5 has both ends in each of its two stacks, and targets once.
std::vector<EndTensor> end_tensors(const Plan& plan, const Slice& slice) {
    const bool t5 = plan.model.encoder_decoder();
    const Count stacks = t5 ? 2 : 1;
    const auto split = sequence_split(plan.layout);
    const Count length = share(plan.data.sequence_length, plan.layout.cp);
    std::vector<EndTensor> tensors;
    if (slice.first) tensors.push_back({"token ids", stacks * 8 * tokens(plan)});
    if (slice.first && plan.model.position == Position::Learned) tensors.push_back({"position ids", 8 * length});
    // cos and sin, of half a head each
    if (plan.model.position == Position::Rotary)
        tensors.push_back(
            {"rotary table", 2 * bytes_of(plan.numerics.dtype) * (length * (plan.model.head_size() / 2))});
    if (slice.first && plan.model.dropout > 0)
        tensors.push_back({"embedding dropout mask",
                           stacks * share(mask_bytes(plan) * tokens(plan) * plan.model.hidden_size, split)});
    if (slice.last) {
        tensors.push_back({"final norm input", stacks * hidden_tensor(plan), true});
        tensors.push_back({"norm statistics", stacks * share(statistic_bytes(plan) * tokens(plan), split), true});
        tensors.push_back({t5 ? "head input and encoder output" : "head input", stacks * hidden_tensor(plan), true});
        tensors.push_back({"targets", 8 * tokens(plan)});
    }
    return tensors;
}

// The head's part of a tied weight's gradient waits for the embedding's, until the end of the backward.
Count tied_gradient(const Plan& plan, const Slice& slice) {
    if (!plan.model.tied_head || !slice.first || !slice.last) return 0;
    return bytes_of(plan.numerics.dtype) * share(plan.model.vocab_size, plan.layout.tp) * plan.model.hidden_size;
}

std::string ends_formula(const Plan& plan, const Slice& slice, std::int64_t in_flight) {
    std::string sum;
    for (const auto& tensor : end_tensors(plan, slice))
        sum += fmt::format("{}{} {}", sum.empty() ? "" : " + ", tensor.what, number(tensor.bytes));
    return fmt::format("{} in flight × ({})", in_flight, sum);
}

}  // namespace

LayerActivations::LayerActivations(const Plan& plan) {
    const bool t5 = plan.model.encoder_decoder();
    const auto tensors = saved_tensors(plan, t5 ? LayerKind::T5Decoder : LayerKind::Decoder);
    const auto encoder_tensors = t5 ? saved_tensors(plan, LayerKind::T5Encoder) : std::vector<SavedTensor>{};
    for (const auto mode : modes) {
        const auto m = static_cast<std::size_t>(mode);
        decoder[m] = kept(tensors, mode);
        encoder[m] = kept(encoder_tensors, mode);
        backward[m] = backward_peak(plan, tensors, mode);
    }
    ops = written_out(tensors, plan.layout.recompute);
}

StageActivations stage_activations(const Plan& plan, const LayerActivations& layer, const Slice& slice,
                                   const InFlight& in_flight, Recompute mode) {
    const auto m = static_cast<std::size_t>(mode);
    StageActivations stage;
    stage.layers = share(in_flight.alive * (slice.encoder_layers * layer.encoder[m] +
                                            (slice.layers - slice.encoder_layers) * layer.decoder[m]),
                         in_flight.chunks);
    if (slice.last) stage.loss = logits_peak(plan);
    for (const auto& tensor : end_tensors(plan, slice)) {
        stage.ends += in_flight.micro_batches() * tensor.bytes;
        if (tensor.head) stage.loss += tensor.bytes;
    }
    stage.needed = layer.backward[m] + tied_gradient(plan, slice);
    stage.backward = stage.needed - stage.loss;
    return stage;
}

std::vector<Term> activation_terms(const Plan& plan, const LayerActivations& layer, const Slice& slice,
                                   const InFlight& in_flight) {
    const auto mode = plan.layout.recompute;
    const auto m = static_cast<std::size_t>(mode);
    const auto stage = stage_activations(plan, layer, slice, in_flight, mode);
    const auto decoders = slice.layers - slice.encoder_layers;

    std::vector<Term> terms;
    const auto count = in_flight.chunks == 1 ? fmt::format("{}", in_flight.alive)
                                             : fmt::format("{}/{}", in_flight.alive, in_flight.chunks);
    auto text = fmt::format("{} micro-batch{} in flight × {} layers × {}", count, count == "1" ? "" : "es", decoders,
                            number(layer.decoder[m]));
    if (slice.encoder_layers > 0)
        text += fmt::format(" + {} × {} encoder layers × {}", count, slice.encoder_layers, number(layer.encoder[m]));
    terms.push_back(
        {"activations",
         mode == Recompute::None ? "Activations" : fmt::format("Activations (recompute {})", recompute_names[m]),
         Category::Activations, stage.layers.value(), text + "; a layer: " + layer.ops, korthikanti});

    if (stage.ends > 0)
        terms.push_back({"end_activations", "Embedding and final norm", Category::Activations, stage.ends.value(),
                         ends_formula(plan, slice, in_flight.micro_batches()),
                         "op by op; Korthikanti et al. 2022, section 4.3"});

    terms.push_back({"layer_backward", mode == Recompute::None ? "One layer's backward" : "One layer recomputed",
                     Category::Activations, stage.backward.value(),
                     slice.last
                         ? fmt::format("max(0, W − G) = max(0, {} − {}); W what one layer's backward needs{}, G the "
                                       "logits, final norm and head input freed before it",
                                       number(stage.needed), number(stage.loss),
                                       tied_gradient(plan, slice) > 0 ? " and the gradient of the tied head" : "")
                         : fmt::format("W = {}, what one layer's backward needs", number(stage.needed)),
                     "op by op (core/estimate/activations.h); Chen et al. 2016"});
    return terms;
}

}  // namespace plimsoll
