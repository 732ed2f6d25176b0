// SPDX-License-Identifier: Apache-2.0
#include "core/estimate/activations.h"

namespace plimsoll {
namespace {

bool on_cpu(const Plan& plan) { return plan.cluster.gpu == "cpu"; }

/// Sizes of the ops of one layer on one rank, as in the header's table.
struct Sizes {
    explicit Sizes(const Plan& plan)
        : e(bytes_of(plan.numerics.dtype)),
          t(plan.layout.tp),
          sigma(plan.layout.sequence_parallel ? plan.layout.tp : 1),
          // Ranks of context parallelism hold s / cp queries and see the keys of the whole sequence one block at a
          // time.
          s(share(plan.data.sequence_length, plan.layout.cp)),
          keys(plan.data.sequence_length),
          sb(s * plan.layout.micro_batch),
          h(plan.model.hidden_size),
          heads(share(plan.model.num_heads, t)),
          q(heads * plan.model.head_size()),
          k(share(plan.model.num_kv_heads, t) * plan.model.head_size()),
          f(share(plan.model.ffn_hidden_size, t)),
          mask(plan.model.dropout > 0 ? mask_bytes(plan) : 0),
          eager(plan.numerics.attention == Attention::Eager || (on_cpu(plan) && plan.model.dropout > 0)),
          repeated(plan.model.num_kv_heads < plan.model.num_heads) {}

    std::int64_t e, t, sigma;
    Count s, keys, sb, h, heads, q, k, f;
    std::int64_t mask;  ///< bytes of a dropout mask's element; 0 without dropout
    bool eager;         ///< the score matrix is kept (the CPU has no flash attention with dropout)
    bool repeated;      ///< grouped-query attention
};

class LayerList {
public:
    explicit LayerList(const Plan& plan) : model_(plan.model), z_(plan) {}

    void attention(SavedKind norm_input) {
        norm(norm_input);
        add("q, k, v input", SavedKind::Block, share(z_.e * z_.sb * z_.h, z_.sigma));
        add("q, k and v", SavedKind::Block, z_.e * z_.sb * (z_.q + 2 * z_.k));
        core();
        add("output projection input", SavedKind::Block, z_.e * z_.sb * z_.q);
        dropout("attention dropout mask");
    }

    void mlp(bool t5) {
        norm(SavedKind::Block);
        add("MLP input", SavedKind::Block, share(z_.e * z_.sb * z_.h, z_.sigma));
        if (model_.moe()) {
            const Count routed = model_.experts_per_token;
            add("router probabilities", SavedKind::Block, 4 * z_.sb * model_.num_experts);
            add("tokens sent to experts", SavedKind::Block, routed * z_.e * z_.sb * z_.h);
            inner(routed, t5);
            add("expert outputs", SavedKind::Block, routed * z_.e * z_.sb * z_.h);
        } else {
            inner(1, t5);
        }
        dropout("MLP dropout mask");
    }

    std::vector<SavedTensor> take() { return std::move(tensors_); }

private:
    void add(std::string_view what, SavedKind kind, Count bytes) {
        if (bytes > 0) tensors_.push_back({what, kind, bytes});
    }

    void norm(SavedKind input) {
        add(input == SavedKind::Input ? "layer input" : "norm input", input, share(z_.e * z_.sb * z_.h, z_.sigma));
        add("norm statistics", SavedKind::Statistics,
            share((model_.norm == Norm::LayerNorm ? 8 : 4) * z_.sb, z_.sigma));
    }

    void core() {
        if (!z_.eager) {
            add("log-sum-exp", SavedKind::AttentionCore, 4 * z_.heads * z_.sb);
            return;
        }
        const Count scores = z_.heads * z_.sb * z_.keys;
        add("softmax output", SavedKind::AttentionCore, z_.e * scores);
        if (z_.mask > 0) {
            add("softmax dropout mask", SavedKind::AttentionCore, z_.mask * scores);
            add("softmax dropout output", SavedKind::AttentionCore, z_.e * scores);
        }
        if (z_.repeated) add("repeated keys and values", SavedKind::AttentionCore, 2 * z_.e * z_.sb * z_.q);
    }

    void inner(Count times, bool t5) {
        const Count one = times * z_.e * z_.sb * z_.f;
        switch (model_.activation) {
            case Activation::Gelu:
                add("GELU input and output", SavedKind::Block, 2 * one);
                break;
            case Activation::Relu:
                add("ReLU output", SavedKind::Block, one);
                break;
            case Activation::SwiGlu:
            case Activation::GeGlu:
                add("gate, up, activated gate, product", SavedKind::Block, 4 * one);
                break;
        }
        if (t5 && z_.mask > 0) {
            add("inner dropout mask", SavedKind::Block, times * z_.mask * z_.sb * z_.f);
            add("inner dropout output", SavedKind::Block, one);
        }
    }

    void dropout(std::string_view what) { add(what, SavedKind::Block, share(z_.mask * z_.sb * z_.h, z_.sigma)); }

    const Model& model_;
    Sizes z_;
    std::vector<SavedTensor> tensors_;
};

bool is_kept(SavedKind kind, Recompute mode) {
    if (mode == Recompute::None) return true;
    if (mode == Recompute::Full) return kind == SavedKind::Input;
    return kind != SavedKind::AttentionCore;
}

}  // namespace

std::vector<SavedTensor> saved_tensors(const Plan& plan, LayerKind kind) {
    const bool t5 = kind != LayerKind::Decoder;
    LayerList list(plan);
    list.attention(SavedKind::Input);
    if (kind == LayerKind::T5Decoder) list.attention(SavedKind::Block);
    list.mlp(t5);
    return list.take();
}

Count kept(const std::vector<SavedTensor>& tensors, Recompute mode) {
    Count sum;
    for (const auto& tensor : tensors)
        if (is_kept(tensor.kind, mode)) sum += tensor.bytes;
    return sum;
}

Count recomputed(const std::vector<SavedTensor>& tensors, Recompute mode) {
    return kept(tensors, Recompute::None) - kept(tensors, mode);
}

std::int64_t bytes_of(Dtype dtype) { return dtype == Dtype::Fp32 ? 4 : 2; }

std::int64_t mask_bytes(const Plan& plan) { return on_cpu(plan) ? bytes_of(plan.numerics.dtype) : 1; }

Count tokens(const Plan& plan) { return share(plan.data.sequence_length, plan.layout.cp) * plan.layout.micro_batch; }

}  // namespace plimsoll
