// SPDX-License-Identifier: Apache-2.0
// Causal attention over heads.
#pragma once

#include <torch/torch.h>

#include "core/plan/plan.h"

namespace plimsoll::engine {

/// softmax(q kᵀ / sqrt(head)) v, each position seeing itself and what came before. q [batch, time, heads, head],
/// k and v [batch, time, key-value heads, head]: fewer of those is grouped-query attention (Ainslie 2023). Gives
/// [batch, time, heads · head]. Flash keeps no score matrix (with dropout on a CPU it does); Eager keeps it.
torch::Tensor causal_attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v, Attention kind,
                               double dropout);

}  // namespace plimsoll::engine
