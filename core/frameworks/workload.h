// SPDX-License-Identifier: Apache-2.0
// A training run under another framework: a plan's model and layout, and settings that a plan does not have.
#pragma once

#include <string>
#include <vector>

#include "core/estimate/optimizer_step.h"
#include "core/frameworks/framework.h"
#include "core/plan/adapter.h"
#include "core/plan/plan.h"

namespace plimsoll {

/// Multi-head latent attention (DeepSeek-V2, 2024): queries and keys through low ranks, each head with a part that is
/// rotated. No latent attention where kv_rank is 0.
struct LatentAttention {
    std::int64_t q_rank = 0, kv_rank = 0, head = 0, rotary = 0, value = 0;
};

/// Experts as far as Model does not describe them.
struct ExpertShape {
    std::int64_t ffn = 0;           ///< inner width of one expert; 0: the model's
    std::int64_t shared_ffn = 0;    ///< inner width of the experts that every token goes through
    std::int64_t dense_layers = 0;  ///< the first so many layers have a plain MLP
    std::int64_t tp = 0;            ///< tensor-parallel ranks of an expert; 0: the layout's
    bool gathers = false;  ///< every rank gathers the tokens of all its expert-parallel ranks (Megatron's allgather)
};

enum class LossKind {
    Materialised,  ///< fp32 copies of all logits
    Chunked,       ///< all logits in 16 bits, fp32 copies of one of loss_pieces
    ChunkedHead,   ///< head and loss together for one of loss_pieces of the tokens at a time
    Fused,         ///< logits and their gradient in 16 bits, nothing else (compiled or a fused kernel)
};

/// Low-rank adapters on a frozen base.
struct Adapters {
    std::int64_t rank = 0;  ///< 0: every weight is trained
    double base_bytes = 0;  ///< bytes of a frozen weight: 2 in bf16, 0.516 in NF4 with double quantisation
    std::vector<LayerMatrix> matrices = {};  ///< of a layer, those that have one; empty: queries and values
};

struct Workload {
    Model model;
    Layout layout;
    Numerics numerics;
    Optimizer optimizer;
    StepLoop step = StepLoop::Fused;  ///< of the optimizer that the framework's export names
    std::int64_t sequence = 0;
    std::int64_t vocabulary = 0;  ///< padded so that tp ranks get equal shares
    LatentAttention latent;
    ExpertShape expert;
    std::int64_t prediction_layers = 0;                     ///< layers that predict further tokens (DeepSeek-V3)
    std::int64_t encoder_layers = 0, encoder_sequence = 0;  ///< T5
    bool bert = false;                                      ///< pooler and masked-token head
    bool fp8 = false;
    bool compiled = false;
    bool fused_gate = false;              ///< the activated gate of a gated MLP is computed again, not kept
    std::vector<std::string> recomputed;  ///< tensors of layer_tensors that are recomputed, besides layout.recompute
    bool deterministic = false;           ///< larger cuBLAS workspaces (CUBLAS_WORKSPACE_CONFIG=:4096:8)
    bool hopper = true;                   ///< compute capability 9.0 or later: larger workspaces
    LossKind loss = LossKind::Materialised;
    std::int64_t loss_pieces = 8;
    bool keeps_gathered = false;     ///< the inputs of column-parallel products are kept gathered, not split
    bool loss_parallel = true;       ///< the loss is computed on tp shares of the vocabulary
    bool fp4 = false;                ///< products and the tensors that they keep are in 4 bits
    bool selective_ops = false;      ///< torchtitan: recompute all but every second product and the attention
    std::int64_t kept_elements = 0;  ///< a token's elements a layer that full recomputation keeps besides its input
    std::int64_t optimizer_instances = 1;  ///< Megatron: the distributed optimizer shards over dp / instances
    bool first_fsdp = false;               ///< FSDP1 in place of FSDP2
    bool expandable_segments = false;      ///< of PyTorch's caching allocator
    Adapters adapters;
    bool pure_half = false;         ///< weights, gradients and moments all in the 16-bit dtype
    bool step_in_backward = false;  ///< each weight is updated as soon as its gradient is there: no gradients are kept
    /// Per pipeline rank, stage micro-batches alive at once, and chunks a rank; empty: by the closed form.
    std::vector<std::int64_t> alive;

    std::int64_t micro_batches() const { return layout.accumulation; }
    /// Tokens a rank sees in one micro-batch.
    Count tokens() const { return Count(layout.micro_batch) * share(sequence, layout.cp); }
    /// The number of ranks that share norms and dropouts.
    std::int64_t sequence_split() const { return layout.sequence_parallel ? layout.tp : 1; }
    std::int64_t expert_tp() const { return expert.tp > 0 ? expert.tp : layout.tp; }
    /// Ranks of a stage that hold the same routed experts.
    std::int64_t expert_ranks() const;
    std::int64_t expert_ffn() const { return expert.ffn > 0 ? expert.ffn : model.ffn_hidden_size; }
    std::int64_t chunks() const;
};

/// `size` up to the next multiple.
std::int64_t padded(std::int64_t size, std::int64_t multiple);

/// The plan as `framework` would run it: its loss, its padding, its attention. The plan is one that as_trained_by gave
/// (core/frameworks/plan_settings.h).
Workload workload_of(const Plan& plan, Framework framework);

/// The loop of the optimizer that a framework's export names: Apex's or Transformer Engine's FusedAdam (Megatron-LM),
/// "fused" (torchtitan), FusedAdam (DeepSpeed), adamw_torch, which is foreach on a GPU (the Trainer).
StepLoop step_loop_of(Framework framework, OptimizerKind optimizer);

/// Layers of a pipeline rank. Ranks get equal shares. Where the layers do not divide, but do divide with embedding and
/// loss counted as a layer each, the shares are equal by that count (Megatron's
/// account-for-embedding-and-loss-in-pipeline-split).
struct StageShare {
    std::int64_t rank = 0;
    std::int64_t layers = 0;  ///< decoder layers
    std::int64_t routed = 0;  ///< decoder layers with experts
    std::int64_t encoder_layers = 0;
    bool first = false, last = false;
    double alive = 1;        ///< micro-batches whose activations the stage keeps; a chunk counts as its fraction
    double kept_layers = 0;  ///< layer micro-batches whose activations the stage keeps
};
std::vector<StageShare> stage_shares(const Workload& work);

}  // namespace plimsoll
