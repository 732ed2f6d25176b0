// SPDX-License-Identifier: Apache-2.0
// Time of one layer's passes on one rank, and of the ends before and behind the layers.
#pragma once

#include "core/plan/plan.h"
#include "core/step_time/hardware.h"

namespace plimsoll {

/// One pass over one micro-batch.
struct PassTime {
    Seconds matmul = 0;       ///< products with weights
    Seconds attention = 0;    ///< scores and their product with the values
    Seconds elementwise = 0;  ///< norms, activations, softmax, residuals, rotations, copies
    Seconds tensor = 0;       ///< tensor-parallel collectives
    Seconds context = 0;      ///< transfers of the context-parallel ring that attention does not hide
    Seconds expert = 0;       ///< all-to-all of experts
    Seconds host = 0;         ///< time that the device waits for the host's launches

    Seconds total() const { return matmul + attention + elementwise + tensor + context + expert + host; }
    PassTime& operator+=(const PassTime& other);
};

/// A layer's forward, the gradient of its input and of its weights.
struct LayerTime {
    PassTime forward, backward_input, backward_weight;
    PassTime core;                 ///< of the forward: the attention core alone
    ByRecompute<Seconds> again{};  ///< time that each mode of recomputation adds to the backward pass
    Seconds backward() const { return backward_input.total() + backward_weight.total(); }
};

/// The times of one decoder layer (or one of T5's encoder layers) for the plan's micro-batch, tp, cp, ep,
/// sequence_parallel, attention and dtype. Products: by shape (matmul_time.h), each rank its columns or rows (Shoeybi
/// 2019), experts dealt evenly. Eager attention: batched products over the whole square and passes over the scores;
/// flash: 2 products forward, 5 backward, half of them skipped in a causal decoder (Dao 2022). Element-wise: bytes read
/// and written by fused kernels. Collectives: one all-reduce for the attention and one for the MLP in each direction,
/// or under sequence parallelism all-gather and reduce-scatter (Korthikanti 2022). A pass lasts at least as long as the
/// host takes to launch its kernels, smoothly: (device^6 + host^6)^(1/6). With adapters the weights have no gradients,
/// and the adapters' own products come on top.
LayerTime layer_time(const Plan& plan, const Hardware& hardware, bool decoder = true);

/// Times of one micro-batch in the embedding with its gradient, and in final norm, head and cross-entropy with their
/// gradients.
struct EndsTime {
    PassTime embedding, embedding_backward;
    PassTime head, head_input, head_weight;
};
EndsTime ends_time(const Plan& plan, const Hardware& hardware);

/// Time to send one micro-batch's activations, or their gradient, from a pipeline stage to the next. Neighbours lie tp
/// x cp x dp ranks apart.
Seconds stage_send_time(const Plan& plan, const Hardware& hardware);

}  // namespace plimsoll
