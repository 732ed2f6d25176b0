// SPDX-License-Identifier: Apache-2.0
// What a forward pass keeps for the backward pass, op by op.
#pragma once

#include <string_view>
#include <vector>

#include "core/estimate/count.h"
#include "core/plan/plan.h"

namespace plimsoll {

/// Recomputation drops by kind: selective drops the attention core, full drops everything but the layer's input,
/// mlp everything but the inputs of attention and MLP, q, k and v, the attention's output and its log-sum-exp.
enum class SavedKind {
    Input,
    SublayerInput,
    Block,
    Projections,
    AttentionCore,
    AttentionOutput,
    LogSumExp,
    Statistics
};

/// A tensor that autograd saves in one layer for one micro-batch, on one rank.
struct SavedTensor {
    std::string_view what;
    SavedKind kind = SavedKind::Block;
    Count bytes;
    bool after_core = false;   ///< saved after the attention core, so freed before its backward
    std::int64_t element = 0;  ///< bytes an element where compress_activations takes it, else 0
    bool routed = false;       ///< grows with the rows that the rank's experts get
    bool in_mlp = false;       ///< of the MLP and its norm
};

enum class LayerKind { Decoder, T5Encoder, T5Decoder };

/// The tensors one layer saves, in the order of the forward pass. s is the sequence length / cp, b the micro-batch, h
/// hidden, a heads, q = a x head size, k = key-value heads x head size, f ffn, t = tp, e bytes of the dtype; σ = t
/// with sequence parallelism, else 1. Dropout tensors are there only when the plan has dropout; a mask is 1 B an
/// element (on the CPU, where PyTorch keeps it in the dtype, e B).
///
///     norm input                     e s b h / σ          (also the layer's input)
///     q, k, v input                  e s b h
///     q, k and v                     e s b (q + 2 k) / t  (after rotation; rotary itself saves nothing)
///     eager:  softmax output         e a s² b / t         \.
///             dropout mask           1 a s² b / t          | the attention core
///             dropout output         e a s² b / t         /
///             repeated keys, values  2 e s b (q - k) / t  (grouped-query attention: in place of k and v)
///     flash:  log-sum-exp            4 a s b / t           the attention core (Dao 2022)
///     output projection input        e s b q / t
///     attention dropout mask         1 s b h / σ
///     norm input                     e s b h / σ
///     MLP input                      e s b h
///     GELU: input, output            2 e s b f / t
///     ReLU: output                   e s b f / t
///     SwiGLU, GeGLU: gate, up, activated gate, product    4 e s b f / t
///     MLP dropout mask               1 s b h / σ
///     norm statistics                8 s b / σ a LayerNorm (fp32; on the CPU in the dtype), 4 an RMSNorm
///
/// A GPT-2 block with dropout, half precision and eager attention sums to Korthikanti 2022's s b h (34 + 5 a s / h),
/// s b h (10 + 24/t + 5 a s / (h t)) with tensor parallelism, less 5 a
/// s² b with selective recomputation and 2 s b h with full (statistics apart, which the paper leaves out). A LLaMA
/// block with flash attention and no dropout sums to e s b (4 h + 2 q + 2 k + 4 f) + 4 a s b.
///
/// MoE with E experts, K a token, balanced routing: the MLP input, the fp32 router probabilities 4 s b E, the tokens as
/// sent to the experts K e s b h, their routes (28 K + 4) s b (weights in fp32; chosen expert, order and token in 8 B),
/// the experts' inner tensors K times the dense MLP's, their outputs K e s b h.
///
/// With norms on both sides (model.norm_placement sandwich) each sublayer's output, e s b h / σ, and its statistics
/// stay as well; with norms behind alone (post, deepnorm) those of the sums in place of the inputs of the norms before,
/// and the first sublayer's input is the layer's. Norms on q and k keep these as they were, e s b (q + k) / t, and 4 B
/// a head and token.
///
/// T5's decoder layers add cross-attention over an encoder output of the same length (kept once for all layers, see
/// stage_activations); its MLP has a dropout inside.
std::vector<SavedTensor> saved_tensors(const Plan& plan, LayerKind kind);

/// The tensors as layout.compress_activations keeps them: block-wise int8, 1 B an element and an fp32 scale of 4 B a
/// block of 256, for the floating-point tensors of the layers, the input that full recomputation keeps included.
/// Dropout masks, norm statistics and the attention's log-sum-exp stay as they are. (ActNN, Chen et al. 2021, goes down
/// to 2 bits.)
std::vector<SavedTensor> compressed(std::vector<SavedTensor> tensors);

/// Sum of saved_tensors that stay until the backward pass in `mode`.
Count kept(const std::vector<SavedTensor>& tensors, Recompute mode);

/// What the backward of one layer needs at its peak beyond what it has freed by then: the tensors it computes again and
/// the gradients on their way. H = e s b h / σ, Q = e s b q / t, K = e s b k / t, F one inner tensor of the MLP, w = e
/// h f / t the gradient of one of its matrices, S = e a s² b / t a score matrix (0 with flash attention), A the tensors
/// saved after the attention core, freed by the time its backward runs.
///
///     M, in the MLP             gated: max(2 F less the dropout mask, F + w); otherwise F + w; routed: one
///                               expert after another, 2 F / experts + w, and 2 K e s b h of gradients that wait
///     C, in the attention core  2 S - A; eager with dropout S + 2 Q - A (the dropout output is freed first)
///
///     none          max(M, C) + H
///     selective     max(M + H, the core again + C + H + 3 Q + 2 K)
///     full          the layer again + max(M + 2 H, C + 3 H)
///     mlp           max(the MLP again + M + H, the attention again + C + 2 H, with eager attention + Q)
///
/// With layout.compress_activations each op's tensors are unpacked for its backward: U = max(F, twice with a gated MLP;
/// 2 Q + 2 K, eager S) comes on top, A counts as compressed, and full recomputation unpacks the layer's input, H, and
/// then keeps what it computes again as it is.
///
/// The waiting H, Q and K are gradients and outputs, counted on Plimsoll's engine (eager LibTorch on the CPU), whose
/// measured peaks this reproduces.
Count backward_peak(const Plan& plan, const std::vector<SavedTensor>& tensors, Recompute mode);
/// What of it is free again when the layer's first gradient has come: in an MLP that is not gated the product of its
/// last matrix, with routed experts the gradients of what all of them gave out.
Count before_first_gradient(const Plan& plan);

/// With layout.compress_activations, what the last layer's forward holds while its MLP's tensors are packed: those, the
/// copies that packing makes in fp32 (one of an fp32 tensor, two of a 16-bit one), and 3 H; with
/// adapters 4, as W's product waits for theirs. 0 otherwise.
Count packing_peak(const Plan& plan);

/// Bytes of a value in the plan's dtype.
std::int64_t bytes_of(Dtype dtype);
/// Bytes a number that the gradient of a matrix takes while its product is made: under autocast the product's own in
/// the dtype of training and the weight's.
std::int64_t product_gradient_bytes(const Numerics& numerics);
/// Bytes of an element of a dropout mask: 1, and the dtype's on the CPU (PyTorch multiplies by a mask in the dtype).
std::int64_t mask_bytes(const Plan& plan);
/// Bytes a token of what a norm keeps besides its input.
std::int64_t statistic_bytes(const Plan& plan);
/// Tokens of one micro-batch on one rank: b x s / cp.
Count tokens(const Plan& plan);

}  // namespace plimsoll
