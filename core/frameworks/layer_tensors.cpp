// SPDX-License-Identifier: Apache-2.0
#include "core/frameworks/layer_tensors.h"

#include <fmt/format.h>

#include "core/estimate/activations.h"
#include "core/frameworks/architecture.h"

namespace plimsoll {
namespace {

struct List {
    explicit List(const Workload& workload, Count query_length)
        : work(workload),
          e(bytes_of(workload.numerics.dtype)),
          split(workload.sequence_split()),
          length(query_length),
          tokens(query_length * workload.layout.micro_batch),
          h(workload.model.hidden_size),
          heads(share(workload.model.num_heads, workload.layout.tp)) {}

    void add(std::string what, Count bytes) {
        if (bytes > 0) tensors.push_back({std::move(what), bytes});
    }
    bool frozen() const { return work.adapters.rank > 0; }
    /// Adapters whose places are known: each keeps the input of its A and of its B.
    bool placed() const { return !work.adapters.matrices.empty(); }
    Count hidden() const { return share(e * tokens * h, split); }

    void norm() {
        add("norm input", hidden());
        add("norm statistics", share((work.model.norm == Norm::LayerNorm ? 8 : 4) * tokens, split));
    }
    void norm_before() {
        const auto placement = work.model.norm_placement;
        if (placement == NormPlacement::Pre || placement == NormPlacement::Sandwich) norm();
    }
    void norm_behind() {
        if (work.model.norm_placement != NormPlacement::Pre) norm();
    }

    /// PEFT casts a module's input to the dtype of its adapter (fp32) and autocast back to 16 bits: each adapter keeps a
    /// copy of its own (peft/tuners/lora/layer.py, _cast_input_dtype). In fp32 q, k and v, or gate and up, share one.
    void adapters(bool in_mlp) {
        Count inputs, shared, between;
        for (const LayerMatrix& matrix : work.adapters.matrices) {
            if (matrix.in_mlp != in_mlp) continue;
            const bool columns = matrix.split == LayerMatrix::Split::Columns;
            if (e == 4 && columns)
                shared = Count(matrix.in);
            else
                inputs += matrix.in;
            between += work.adapters.rank;
        }
        add("inputs of adapters", e * tokens * (inputs + shared));
        add("between the adapters' matrices", e * tokens * between);
    }
    void dropout_mask() {
        if (work.model.dropout > 0) add("dropout mask", share(tokens * h, split));
    }

    void scores(Count keys) {
        const Count size = heads * tokens * keys;
        if (work.numerics.attention == Attention::Flash) {
            add("log-sum-exp", 4 * heads * tokens);
            return;
        }
        add("softmax output", e * size);
        if (work.model.dropout > 0) {
            add("softmax dropout mask", size);
            add("softmax dropout output", e * size);
        }
    }

    void attention(Count keys) {
        norm_before();
        if (!placed()) add("q, k, v input", hidden());
        if (work.latent.kv_rank > 0) {
            const auto& l = work.latent;
            add("latent vectors", 2 * e * tokens * (l.q_rank + l.kv_rank + l.rotary));
            add("up-projections", e * tokens * heads * (2 * l.head + l.rotary + l.value));
            // q, k and v are copies that include their rotated parts; the values are views of the up-projection's
            // output.
            add("q, k and v", e * tokens * heads * (2 * (l.head + l.rotary)));
            scores(keys);
            add("output projection input", e * tokens * heads * l.value);
        } else {
            if (work.model.qk_norm) {
                add("q and k before their norms", e * tokens * (query_width(work) + key_width(work)));
                add("q and k norm statistics", 4 * tokens * (heads + share(work.model.num_kv_heads, work.layout.tp)));
            }
            add("q, k and v", e * tokens * (query_width(work) + 2 * key_width(work)));
            scores(keys);
            // A frozen matrix has no gradient and needs no input for it; flash attention keeps its output for itself.
            const bool flash = placed() && work.numerics.attention == Attention::Flash;
            if (!frozen() || flash) add("output projection input", e * tokens * query_width(work));
        }
        if (placed()) adapters(false);
        dropout_mask();
        norm_behind();
    }

    /// The inner tensors of an MLP for that many tokens.
    Count inner(Count rows, Count ffn) const {
        switch (work.model.activation) {
            case Activation::Gelu:
                return (frozen() ? 1 : 2) * e * rows * ffn;
            case Activation::Relu:
                return e * rows * ffn;
            // Transformer Engine and fused kernels keep gate and up, and the product that the last matrix needs;
            // PyTorch's own ops also keep the activated gate.
            case Activation::SwiGlu:
            case Activation::GeGlu:
                return ((work.fused_gate ? 3 : 4) - (frozen() ? 1 : 0)) * e * rows * ffn;
        }
        return 0;
    }

    void mlp(Block block) {
        norm_before();
        if (!frozen()) add("MLP input", hidden());
        if (block == Block::Routed) {
            const Count routed = share(Count(work.model.experts_per_token) * tokens, split);
            // With fewer tensor-parallel ranks inside the experts, each rank sees only its part of the sequence.
            const Count rows = share(routed * work.expert_tp(), split == 1 ? work.layout.tp : 1);
            if (work.expert.gathers && work.layout.ep > 1)
                add("gathered tokens", hidden() * work.layout.ep * work.expert_tp());
            add("router probabilities", share(4 * tokens * work.model.num_experts, split));
            add("tokens sent to experts", e * rows * h);
            const Count ffn = share(work.expert_ffn(), work.expert_tp());
            add("experts' products", inner(rows, ffn) - e * rows * ffn);
            add("experts' activations", e * rows * ffn);
            add("expert outputs", e * rows * h);
            if (work.expert.shared_ffn > 0)
                add("shared expert", hidden() + inner(tokens, share(work.expert.shared_ffn, work.layout.tp)));
        } else {
            add("MLP inner tensors", inner(tokens, share(work.model.ffn_hidden_size, work.layout.tp)));
        }
        if (placed()) adapters(true);
        dropout_mask();
        norm_behind();
    }

    const Workload& work;
    std::int64_t e, split;
    Count length, tokens, h, heads;
    std::vector<KeptTensor> tensors;
};

}  // namespace

std::vector<KeptTensor> layer_tensors(const Workload& work, Block block) {
    const Count length = share(work.sequence, work.layout.cp), keys = work.sequence;
    const Count encoder = work.encoder_sequence;
    List list(work, block == Block::Encoder ? encoder : length);
    list.attention(block == Block::Encoder ? encoder : keys);
    if (block == Block::T5Decoder) list.attention(encoder);
    list.mlp(block);
    return std::move(list.tensors);
}

Count sum(const std::vector<KeptTensor>& tensors) {
    Count bytes;
    for (const auto& tensor : tensors) bytes += tensor.bytes;
    return bytes;
}

std::string written_out(const std::vector<KeptTensor>& tensors) {
    std::string text;
    for (const auto& tensor : tensors)
        text += fmt::format("{}{} {}", text.empty() ? "" : " + ", tensor.what, format_count(tensor.bytes.value()));
    return text;
}

Count layer_input(const Workload& work) {
    return share(bytes_of(work.numerics.dtype) * work.tokens() * work.model.hidden_size, work.sequence_split());
}

}  // namespace plimsoll
