// SPDX-License-Identifier: Apache-2.0
// Cross-entropy of logits whose vocabulary is spread over tensor-parallel ranks (Shoeybi 2019, section 3).
#pragma once

#include <torch/torch.h>

#include "core/engine/ranks/collectives.h"

namespace plimsoll::engine {

/// Sum over all positions of -log softmax(logits)[target], in fp32 (fp64 logits: in fp64). logits [tokens, part of the
/// vocabulary], targets [tokens]; this rank's part begins at token `begin`. The ranks exchange three numbers per token;
/// no rank ever holds all logits. Keeps the softmax of this rank's part. `z_loss` as in chunked_loss.h: the gradient of
/// the z-loss is included, and the sum of (log Σ exp z)² over the positions is added to `z_squares`.
torch::Tensor vocabulary_parallel_loss(const torch::Tensor& logits, const torch::Tensor& targets, std::int64_t begin,
                                       Collectives& ranks, double z_loss = 0, double* z_squares = nullptr);

/// logits [..., part] of every rank -> [..., vocab], without gradients.
torch::Tensor gathered_vocabulary(const torch::Tensor& logits, std::int64_t vocab, Collectives& ranks);

}  // namespace plimsoll::engine
