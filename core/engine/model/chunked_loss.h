// SPDX-License-Identifier: Apache-2.0
// Head and loss in one, a piece of the tokens at a time, as Liger-Kernel's fused linear cross-entropy does it (Hsu et
// al. 2024): the logits of a whole batch are never in memory.
#pragma once

#include <torch/torch.h>

namespace plimsoll::engine {

/// Mean cross-entropy of the logits z = hidden Wᵀ: language_model_loss(at::linear(hidden, head_weight), targets), in
/// fp32 (fp64 weights: in fp64). hidden [batch, time, width], head_weight [vocab, width], targets [batch, time], each
/// below vocab. The tokens are taken in `chunks` pieces (at least 1; as many as tokens at most), and at most one
/// piece's logits exist.
///
/// With p = softmax(z) of a token, y its target and N tokens:
///   loss = 1/N Σ (log Σ exp z - z_y)      dz = (p - onehot(y)) / N      dhidden = dz W      dW = Σ dzᵀ hidden
/// Both gradients are taken in the forward pass, while a piece's logits are there, and only where they are needed; the
/// backward pass multiplies them by the incoming gradient, in place, and so runs once. Until then the two gradients
/// take the size of hidden and, in fp32 (fp64), of the weight. 1/N is applied last, so that dz in half precision does
/// not underflow.
///
/// With `z_loss` w the gradients are those of loss + w/N Σ (log Σ exp z)² (PaLM, Chowdhery 2022), while the returned
/// loss stays the cross-entropy: dz = (p (1 + 2 w log Σ exp z) - onehot(y)) / N. The value of the z-loss is added to
/// `z_loss_value`.
torch::Tensor chunked_language_model_loss(const torch::Tensor& hidden, const torch::Tensor& head_weight,
                                          const torch::Tensor& targets, std::int64_t chunks, double z_loss = 0,
                                          double* z_loss_value = nullptr);

}  // namespace plimsoll::engine
