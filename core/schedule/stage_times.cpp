// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/schedule/schedule.h"

namespace plimsoll {
namespace {

/// Forward FLOPs a token, as doubles: only their ratios are used.
struct LayerFlops {
    double attention_core = 0;  ///< scores and their product with the values
    double rest = 0;            ///< every other matrix product
    double total() const { return attention_core + rest; }
};

// A matrix of n parameters costs 2 n FLOPs a token (Kaplan 2020, section 2.1).
LayerFlops layer_flops(const Plan& plan, bool decoder) {
    const auto& m = plan.model;
    const double h = static_cast<double>(m.hidden_size), f = static_cast<double>(m.ffn_hidden_size);
    const double q = static_cast<double>(m.num_heads) * static_cast<double>(m.head_size());
    const double kv = static_cast<double>(m.num_kv_heads) * static_cast<double>(m.head_size());
    const double s = static_cast<double>(plan.data.sequence_length);

    const double attention = 2 * (2 * h * q + 2 * h * kv);
    const double mlp = 2 * (m.gated_mlp() ? 3 : 2) * h * f;
    const double experts = static_cast<double>(m.experts_per_token) * mlp + 2 * h * static_cast<double>(m.num_experts);
    const double scores = 4 * s * q;
    // Flash kernels skip the masked half of a causal decoder; eager attention computes it.
    const bool half = decoder && plan.numerics.attention == Attention::Flash;

    LayerFlops flops{half ? scores / 2 : scores, attention + (m.moe() ? experts : mlp)};
    if (m.encoder_decoder() && decoder) {
        flops.attention_core += scores;
        flops.rest += attention;
    }
    return flops;
}

double recomputed(const LayerFlops& flops, Recompute mode) {
    if (mode == Recompute::Full) return flops.total();
    return mode == Recompute::Selective ? flops.attention_core : 0;
}

}  // namespace

StageTimes StageTimes::uniform(int stages, Seconds forward, Seconds backward, Seconds send) {
    const auto count = static_cast<std::size_t>(std::max(stages, 0));
    return {std::vector<Seconds>(count, forward), std::vector<Seconds>(count, backward), send};
}

std::vector<std::int64_t> layers_per_stage(const Plan& plan) {
    const auto stages = std::max<std::int64_t>(plan.layout.pp, 1);
    const auto layers = plan.model.encoder_decoder() ? 2 * plan.model.num_layers : plan.model.num_layers;
    std::vector<std::int64_t> split(static_cast<std::size_t>(stages), layers / stages);
    for (std::int64_t stage = 0; stage < layers % stages; ++stage) ++split[static_cast<std::size_t>(stage)];
    return split;
}

StageTimes relative_stage_times(const Plan& plan) {
    const auto layers = layers_per_stage(plan);
    const auto decoder = layer_flops(plan, true), encoder = layer_flops(plan, false);
    const auto encoder_layers = plan.model.encoder_decoder() ? plan.model.num_layers : 0;
    const double head = 2 * static_cast<double>(plan.model.hidden_size) * static_cast<double>(plan.model.vocab_size);

    StageTimes times;
    double middle = 0;
    std::int64_t first = 0;
    for (std::size_t stage = 0; stage < layers.size(); ++stage) {
        const auto encoders = std::clamp<std::int64_t>(encoder_layers - first, 0, layers[stage]);
        const auto decoders = layers[stage] - encoders;
        first += layers[stage];
        const auto of_layers = [&](double one_encoder, double one_decoder) {
            return static_cast<double>(encoders) * one_encoder + static_cast<double>(decoders) * one_decoder;
        };
        const double layer_forward = of_layers(encoder.total(), decoder.total());
        const double again =
            of_layers(recomputed(encoder, plan.layout.recompute), recomputed(decoder, plan.layout.recompute));
        const double forward = layer_forward + (stage + 1 == layers.size() ? head : 0);
        times.forward.push_back(forward);
        times.backward.push_back(2 * forward + again);  // gradients of the input and of the weights
        if (stage == layers.size() / 2) middle = layer_forward;
    }
    for (auto* list : {&times.forward, &times.backward})
        for (auto& time : *list) time /= middle > 0 ? middle : 1;
    return times;
}

}  // namespace plimsoll
