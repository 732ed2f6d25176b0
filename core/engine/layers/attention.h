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

/// softmax(q kᵀ / sqrt(head)) v, each position attends to itself and to earlier positions. q [batch, time, heads,
/// head], k and v [batch, time, key-value heads, head]: fewer of those is grouped-query attention (Ainslie 2023).
/// Returns [batch, time, heads · head]. Flash keeps no score matrix unless there is dropout; Eager keeps the matrix.
///
/// `replay` belongs to a recomputed body. The first run keeps the result (and the log of the softmax sums), so that the
/// second run computes only what the backward pass needs: nothing for flash attention on the CPU, the softmax for eager
/// attention. CUDA's fused kernels run again.
torch::Tensor causal_attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v, Attention kind,
                               const AttentionDropout& dropout, Replay* replay = nullptr);

}  // namespace plimsoll::engine
