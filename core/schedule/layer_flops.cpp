// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/layer_flops.h"

namespace plimsoll {

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
    // All of the MLP but its last matrix (all of routed experts), and the scores where no kernel keeps their
    // log-sum-exp.
    const double before_last = m.moe() ? experts : mlp - 2 * h * f;
    const double probabilities = plan.numerics.attention == Attention::Flash ? 0 : scores / 2;
    flops.mlp_again = probabilities + before_last;
    if (m.encoder_decoder() && decoder) {
        flops.attention_core += scores;
        flops.rest += attention;
        flops.mlp_again += probabilities;
    }
    return flops;
}

double recomputed_flops(const LayerFlops& flops, Recompute mode) {
    switch (mode) {
        case Recompute::Selective:
            return flops.attention_core;
        case Recompute::Full:
            return flops.total();
        case Recompute::Mlp:
            return flops.mlp_again;
        case Recompute::None:
            break;
    }
    return 0;
}

}  // namespace plimsoll
