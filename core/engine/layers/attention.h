// SPDX-License-Identifier: Apache-2.0
// Causal attention over heads.
#pragma once

#include <torch/torch.h>

#include "core/engine/layers/dropout.h"
#include "core/engine/layers/recompute.h"
#include "core/plan/plan.h"

namespace plimsoll::engine {

struct AttentionDropout {
    double p = 0;
    DropoutKey key;
    std::int64_t first_head = 0;  ///< number of the first head in the model
};

/// softmax(q kᵀ / sqrt(head)) v, each position seeing itself and what came before. q [batch, time, heads, head],
/// k and v [batch, time, key-value heads, head]: fewer of those is grouped-query attention (Ainslie 2023). Gives
/// [batch, time, heads · head]. Flash keeps no score matrix (with dropout it does); Eager keeps it.
///
/// `replay`, of a body that is recomputed: the first run keeps the result (and the log of the softmax's sums), so that
/// the second computes no more than its backward asks for: nothing with flash attention on the CPU, the softmax with
/// eager attention. CUDA's fused kernels run again.
torch::Tensor causal_attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v, Attention kind,
                               const AttentionDropout& dropout, Replay* replay = nullptr);

}  // namespace plimsoll::engine
