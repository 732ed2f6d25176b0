// SPDX-License-Identifier: Apache-2.0
// Causal attention over a sequence that is spread over ranks (Ring Attention, Liu 2023).
#pragma once

#include <torch/torch.h>

#include "core/engine/layers/attention.h"
#include "core/engine/layers/recompute.h"
#include "core/engine/ranks/collectives.h"

namespace plimsoll::engine {

/// The positions that a context-parallel rank holds: of 2 n equal pieces of the sequence number `rank` and number
/// 2 n - 1 - rank, so that under the causal mask all ranks have the same work (Brandon 2023, Striped Attention;
/// Llama 3, section 3.3.2). [time / n] int64. n = 1: 0, 1, 2, …
torch::Tensor context_positions(std::int64_t time, int rank, int ranks);

/// As causal_attention, with the same dropout; q, k and v hold this rank's context_positions. Keys and values go round
/// the ring of ranks while blocks are computed, each with softmax statistics in fp32 (fp64 for fp64); no rank ever
/// holds the keys of all. The backward goes round once more, and the gradients of keys and values travel with them.
/// Keeps q, k, v, the output and one number a row and head; the first run of a recomputed body (`replay`) the last two,
/// and the second has nothing to send.
torch::Tensor ring_attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v, Collectives& ring,
                             const AttentionDropout& dropout = {}, Replay* replay = nullptr);

}  // namespace plimsoll::engine
