// SPDX-License-Identifier: Apache-2.0
// Causal attention over a sequence that is spread over ranks (Ring Attention, Liu 2023).
#pragma once

#include <torch/torch.h>

#include <array>

#include "core/engine/layers/attention.h"
#include "core/engine/layers/recompute.h"
#include "core/engine/ranks/collectives.h"

namespace plimsoll::engine {

/// The sequence is cut into 2 n equal pieces, and a context-parallel rank holds pieces `rank` and 2 n - 1 - rank, in this
/// order, so that all ranks have the same work under the causal mask (Brandon 2023, Striped Attention; Llama 3, section
/// 3.3.2).
std::array<int, 2> context_pieces(int rank, int ranks);

/// The positions of those pieces, [time / n] int64. n = 1: 0, 1, 2, …
torch::Tensor context_positions(std::int64_t time, int rank, int ranks);

/// Like causal_attention(), with the same dropout; q, k and v hold this rank's context_positions(). Keys and values are
/// passed round the ring of ranks while blocks are computed, each block with softmax statistics in fp32 (fp64 for
/// fp64); no rank ever holds all keys. The backward pass goes round the ring once more, and the gradients of keys and
/// values travel with the keys and values. Keeps q, k, v, the output and one number per row and head. The first run of
/// a recomputed body (`replay`) keeps the output and those numbers only; the second run sends nothing.
torch::Tensor ring_attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v, Collectives& ring,
                             const AttentionDropout& dropout = {}, Replay* replay = nullptr);

}  // namespace plimsoll::engine
