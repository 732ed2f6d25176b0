// SPDX-License-Identifier: Apache-2.0
// Floating-point operations of a layer's forward pass.
#pragma once

#include "core/plan/plan.h"

namespace plimsoll {

/// FLOPs a token, over all tensor-parallel ranks.
struct LayerFlops {
    double attention_core = 0;  ///< scores and their product with the values
    double rest = 0;            ///< every other matrix product
    double mlp_again = 0;       ///< what Recompute::Mlp repeats of both
    double total() const { return attention_core + rest; }
};

/// Of one decoder layer, or of one of T5's encoder layers. A matrix of n parameters costs 2 n FLOPs a token (Kaplan
/// 2020, section 2.1), the attention core 4 s q, of which flash kernels skip the masked half in a causal decoder.
LayerFlops layer_flops(const Plan& plan, bool decoder);
/// What a layer that recomputes in `mode` does twice, of those.
double recomputed_flops(const LayerFlops& flops, Recompute mode);

}  // namespace plimsoll
