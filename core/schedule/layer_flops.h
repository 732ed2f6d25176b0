// SPDX-License-Identifier: Apache-2.0
// Floating-point operations of a layer's forward pass.
#pragma once

#include "core/plan/plan.h"

namespace plimsoll {

/// FLOPs per token, over all tensor-parallel ranks.
struct LayerFlops {
    double attention_core = 0;  ///< scores and their product with the values
    double rest = 0;            ///< every other matrix product
    double mlp_again = 0;       ///< the part of both that Recompute::Mlp repeats
    double total() const { return attention_core + rest; }
};

/// FLOPs of one decoder layer, or of one of T5's encoder layers. A matrix of n parameters costs 2 n FLOPs per token
/// (Kaplan 2020, section 2.1), the attention core 4 s q, of which flash kernels skip the masked half in a causal
/// decoder.
LayerFlops layer_flops(const Plan& plan, bool decoder);
/// The FLOPs of a layer that are done twice under recomputation in `mode`.
double recomputed_flops(const LayerFlops& flops, Recompute mode);

}  // namespace plimsoll
