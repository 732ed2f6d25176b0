// SPDX-License-Identifier: Apache-2.0
#include "core/estimate/activations.h"

#include <algorithm>

#include "core/plan/adapter.h"
#include "core/plan/machine.h"

namespace plimsoll {
namespace {

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
          kv_heads(share(plan.model.num_kv_heads, t)),
          q(heads * plan.model.head_size()),
          k(kv_heads * plan.model.head_size()),
          f(share(plan.model.ffn_hidden_size, t)),
          mask(plan.model.dropout > 0 ? mask_bytes(plan) : 0),
          eager(plan.layout.cp == 1 &&
                (plan.numerics.attention == Attention::Eager || (plan.cluster.on_cpu() && plan.model.dropout > 0))),
          repeated(plan.model.num_kv_heads < plan.model.num_heads),
          routed(plan.model.moe() ? plan.model.experts_per_token : 1),
          own_experts(plan.model.moe() ? share(plan.model.num_experts, plan.layout.ep) : Count(1)),
          statistic(statistic_bytes(plan)) {}

    Count hidden() const { return share(e * sb * h, sigma); }
    /// Input of a column-parallel product: the whole sequence.
    Count gathered() const { return e * sb * h; }
    Count inner() const { return routed * e * sb * f; }
    Count scores() const { return heads * sb * keys; }

    std::int64_t e, t, sigma;
    Count s, keys, sb, h, heads, kv_heads, q, k, f;
    std::int64_t mask;  ///< bytes of a dropout mask's element; 0 without dropout
    bool eager;         ///< the score matrix is kept (the CPU has no flash attention with dropout; a ring keeps none)
    bool repeated;      ///< grouped-query attention
    Count routed;       ///< experts that a token goes through; 1 when dense
    Count own_experts;  ///< on the rank; 1 when dense
    std::int64_t statistic;
};

/// The matrices whose inputs are kept, for the gradients of the matrices or of their adapters.
struct KeptInputs {
    explicit KeptInputs(const Plan& plan) : all(!adapts(plan)) {
        for (const LayerMatrix& matrix : adapted_matrices(plan)) {
            const bool rows = matrix.split == LayerMatrix::Split::Rows;
            (matrix.in_mlp ? (rows ? down : up) : (rows ? output : qkv)) = true;
            (matrix.in_mlp ? in_mlp : in_attention) += plan.adapter.rank;
        }
    }
    bool all;  ///< no adapters: the matrices train
    bool qkv = all, output = all, up = all, down = all;
    Count in_attention, in_mlp;  ///< numbers a token between A and B of the adapters
};

class LayerList {
public:
    explicit LayerList(const Plan& plan) : model_(plan.model), z_(plan), inputs_(plan) {}

    void attention(SavedKind norm_input) {
        after_core_ = false;
        before(norm_input, inputs_.qkv ? "q, k, v input" : "");
        if (model_.qk_norm) {
            add("q and k before their norms", SavedKind::Block, z_.e * z_.sb * (z_.q + z_.k));
            add("q and k norm statistics", SavedKind::Statistics, 4 * z_.sb * (z_.heads + z_.kv_heads), 0);
        }
        add("q, k and v", SavedKind::Projections, z_.e * z_.sb * (z_.q + 2 * z_.k));
        core();
        after_core_ = true;
        // Flash attention keeps its output for itself.
        if (inputs_.output || !z_.eager)
            add("output projection input", SavedKind::AttentionOutput, z_.e * z_.sb * z_.q);
        add("between attention's adapters", SavedKind::Block, z_.e * z_.sb * inputs_.in_attention);
        dropout("attention dropout mask");
        behind();
    }

    void mlp(bool t5) {
        in_mlp_ = true;
        before(SavedKind::SublayerInput, inputs_.up ? "MLP input" : "");
        if (model_.moe()) add("router probabilities", SavedKind::Block, 4 * z_.sb * model_.num_experts, 4);
        if (model_.moe()) add("routes", SavedKind::Block, (28 * z_.routed + 4) * z_.sb, 0);
        routed_ = model_.moe();
        if (model_.moe() && inputs_.all)
            add("tokens sent to experts", SavedKind::Block, z_.routed * z_.e * z_.sb * z_.h);
        inner(t5);
        add("between the MLP's adapters", SavedKind::Block, z_.e * z_.sb * inputs_.in_mlp);
        if (model_.moe()) add("expert outputs", SavedKind::Block, z_.routed * z_.e * z_.sb * z_.h);
        routed_ = false;
        dropout("MLP dropout mask");
        behind();
    }

    std::vector<SavedTensor> take() { return std::move(tensors_); }

private:
    void add(std::string_view what, SavedKind kind, Count bytes) { add(what, kind, bytes, z_.e); }
    /// `element`: bytes of an element that compression can shrink, or 0.
    void add(std::string_view what, SavedKind kind, Count bytes, std::int64_t element) {
        if (bytes > 0) tensors_.push_back({what, kind, bytes, after_core_, element, routed_, in_mlp_});
    }

    /// The input of a sublayer, with the norm before it. Without a norm the input is the residual stream, of which
    /// sequence parallelism gathers a copy. `what` is empty where no matrix keeps the input.
    void before(SavedKind input, std::string_view what) {
        if (norm_before()) {
            norm(input, input == SavedKind::Input ? "layer input" : "norm input");
        } else if (input == SavedKind::Input) {
            add("layer input", input, z_.hidden());
        }
        if (what.empty()) return;
        if (norm_before() || z_.sigma > 1 || input != SavedKind::Input) add(what, SavedKind::Block, z_.gathered());
    }

    void behind() {
        if (model_.norm_placement != NormPlacement::Pre) norm(SavedKind::Block, "input of the norm behind");
    }

    bool norm_before() const {
        return model_.norm_placement == NormPlacement::Pre || model_.norm_placement == NormPlacement::Sandwich;
    }

    void norm(SavedKind input, std::string_view what) {
        add(what, input, z_.hidden());
        add("norm statistics", SavedKind::Statistics, share(z_.statistic * z_.sb, z_.sigma), 0);
    }

    void core() {
        if (!z_.eager) {
            add("log-sum-exp", SavedKind::LogSumExp, 4 * z_.heads * z_.sb, 0);
            return;
        }
        add("softmax output", SavedKind::AttentionCore, z_.e * z_.scores());
        if (z_.mask > 0) {
            add("softmax dropout mask", SavedKind::AttentionCore, z_.mask * z_.scores(), 0);
            add("softmax dropout output", SavedKind::AttentionCore, z_.e * z_.scores());
        }
        if (z_.repeated) add("repeated keys and values", SavedKind::AttentionCore, 2 * z_.e * z_.sb * (z_.q - z_.k));
    }

    void inner(bool t5) {
        switch (model_.activation) {
            case Activation::Gelu:
                if (inputs_.down) add("GELU input and output", SavedKind::Block, 2 * z_.inner());
                if (!inputs_.down) add("GELU input", SavedKind::Block, z_.inner());
                break;
            case Activation::Relu:
                add("ReLU output", SavedKind::Block, z_.inner());
                break;
            case Activation::SwiGlu:
            case Activation::GeGlu:
                if (inputs_.down) add("gate, up, activated gate, product", SavedKind::Block, 4 * z_.inner());
                if (!inputs_.down) add("gate, up, activated gate", SavedKind::Block, 3 * z_.inner());
                break;
        }
        if (t5 && z_.mask > 0) {
            add("inner dropout mask", SavedKind::Block, z_.routed * z_.mask * z_.sb * z_.f, 0);
            add("inner dropout output", SavedKind::Block, z_.inner());
        }
    }

    void dropout(std::string_view what) { add(what, SavedKind::Block, share(z_.mask * z_.sb * z_.h, z_.sigma), 0); }

    const Model& model_;
    Sizes z_;
    KeptInputs inputs_;
    std::vector<SavedTensor> tensors_;
    bool after_core_ = false, routed_ = false, in_mlp_ = false;
};

/// Where oneDNN packs blocks of the operands of a 16-bit product on the CPU: 0.5 to 0.8 MiB whatever the sizes, measured.
Count packed_operands(const Plan& plan) {
    const bool packs = plan.cluster.on_cpu() && plan.numerics.dtype != Dtype::Fp32 && packs_half_products();
    return packs ? Count(640 * KiB) : Count(0);
}

/// The gradient of one of the MLP's matrices, or of the adapter beside it.
Count matrix_gradient(const Plan& plan) {
    const Sizes z(plan);
    const Count e = product_gradient_bytes(plan.numerics);
    return adapts(plan) ? e * Count(plan.adapter.rank) * (z.h + z.f) : e * z.h * z.f;
}

/// The memory that the product of the MLP's last matrix needs besides its result.
Count last_product(const Plan& plan) { return matrix_gradient(plan) + packed_operands(plan); }

bool is_kept(SavedKind kind, Recompute mode) {
    if (mode == Recompute::None) return true;
    if (mode == Recompute::Full) return kind == SavedKind::Input;
    if (mode == Recompute::Selective) return kind != SavedKind::AttentionCore && kind != SavedKind::LogSumExp;
    return kind != SavedKind::Block && kind != SavedKind::AttentionCore && kind != SavedKind::Statistics;
}

/// The memory that each half of a layer's backward needs beyond kept and recomputed tensors and the gradients between
/// the halves.
struct BackwardHalves {
    explicit BackwardHalves(const Plan& plan) {
        const Sizes z(plan);
        const Count queries = z.e * z.sb * z.q;
        const Count matrix = matrix_gradient(plan);
        const Count mask = share(z.mask * z.sb * z.h, z.sigma);
        const Count inner = share(z.inner(), z.own_experts.value());
        const Count at_down = inner + last_product(plan);
        // With adapters the gradient through W and the gradient through A exist at once. The last matrix frees nothing
        // for them where it keeps no input.
        const KeptInputs inputs(plan);
        const std::int64_t alive = plan.model.gated_mlp() ? (inputs.down ? 2 : 3) : (inputs.all ? 1 : 2);
        const Count in_dense = std::max(alive * inner - (plan.model.gated_mlp() ? mask : Count(0)), at_down);
        // Experts compute one after another; meanwhile the gradients of all experts' inputs and outputs wait.
        in_mlp = plan.model.moe() ? 2 * inner + matrix + 2 * z.routed * z.e * z.sb * z.h : in_dense;
        const Count scores = z.eager ? z.e * z.scores() : Count(0);
        in_core = z.mask > 0 && z.eager ? scores + 2 * queries : 2 * scores;
    }
    Count in_mlp, in_core;
};

Count again_in_mlp(const std::vector<SavedTensor>& tensors, Recompute mode) {
    Count sum;
    for (const auto& tensor : tensors)
        if (tensor.in_mlp && !is_kept(tensor.kind, mode)) sum += tensor.bytes;
    return sum;
}

/// Recompute::Mlp goes backward through the MLP, then through attention; each half recomputes its own tensors.
struct MlpModeHalves {
    MlpModeHalves(const Plan& plan, const std::vector<SavedTensor>& tensors) {
        const Sizes z(plan);
        const BackwardHalves halves(plan);
        const Count mlp_again = again_in_mlp(tensors, Recompute::Mlp);
        const Count again = kept(tensors, Recompute::None) - kept(tensors, Recompute::Mlp);
        mlp = mlp_again + halves.in_mlp + z.hidden();
        attention = again - mlp_again + halves.in_core + 2 * z.hidden() + (z.eager ? z.e * z.sb * z.q : Count(0));
    }
    Count mlp, attention;
};

}  // namespace

std::vector<SavedTensor> saved_tensors(const Plan& plan, LayerKind kind) {
    const bool t5 = kind != LayerKind::Decoder;
    LayerList list(plan);
    list.attention(SavedKind::Input);
    if (kind == LayerKind::T5Decoder) list.attention(SavedKind::SublayerInput);
    list.mlp(t5);
    return list.take();
}

std::vector<SavedTensor> compressed(std::vector<SavedTensor> tensors) {
    constexpr std::int64_t block = 256;
    for (auto& tensor : tensors) {
        if (tensor.element == 0) continue;
        const Count elements = share(tensor.bytes, tensor.element);
        tensor.bytes = elements + 4 * share(elements, block);
    }
    return tensors;
}

Count kept(const std::vector<SavedTensor>& tensors, Recompute mode) {
    Count sum;
    for (const auto& tensor : tensors)
        if (is_kept(tensor.kind, mode)) sum += tensor.bytes;
    return sum;
}

Count before_first_gradient(const Plan& plan) {
    const Sizes z(plan);
    const Count rows = z.routed * z.e * z.sb * z.h, inner = share(z.inner(), z.own_experts.value());
    const Count routed = share(7 * rows, 2) - 2 * inner - z.hidden();
    const Count free = plan.model.moe() ? routed : plan.model.gated_mlp() ? Count(0) : last_product(plan);
    if (adapts(plan)) {
        // The MLP's adapters get the first gradients. In an MLP without adapters, all memory that its backward needed
        // is free by the first gradient.
        const KeptInputs inputs(plan);
        if (inputs.up || inputs.down) return 0;
        const auto tensors = saved_tensors(plan, LayerKind::Decoder);
        const BackwardHalves halves(plan);
        Count after_core;
        for (const auto& tensor : tensors)
            if (tensor.after_core) after_core += tensor.bytes;
        return halves.in_mlp - (halves.in_core - after_core);
    }
    if (plan.layout.recompute != Recompute::Mlp) return free;
    // Attention, whose gradients come later, may need about as much memory.
    const MlpModeHalves halves(plan, saved_tensors(plan, LayerKind::Decoder));
    return std::min(free, halves.mlp - halves.attention);
}

Count backward_peak(const Plan& plan, const std::vector<SavedTensor>& tensors, Recompute mode) {
    const Sizes z(plan);
    const bool packed = plan.layout.compress_activations;
    Count after_core;
    for (const auto& tensor : packed&& mode != Recompute::Full ? compressed(tensors) : tensors)
        if (tensor.after_core) after_core += tensor.bytes;
    const Count h = z.hidden(), queries = z.e * z.sb * z.q, keys = z.e * z.sb * z.k;
    const BackwardHalves halves(plan);
    const Count in_mlp = halves.in_mlp, in_core = halves.in_core;
    const Count inner = share(z.inner(), z.own_experts.value());
    const Count scores = z.eager ? z.e * z.scores() : Count(0);
    const Count again = kept(tensors, Recompute::None) - kept(tensors, mode);
    const Count op = std::max((plan.model.gated_mlp() ? 2 : 1) * inner, z.eager ? scores : 2 * queries + 2 * keys);
    const Count unpacked = !packed                   ? Count(0)
                           : mode == Recompute::Full ? h
                           : mode == Recompute::Mlp  ? h + 2 * queries + 2 * keys
                                                     : op;

    // Differences stop at 0: more memory may be freed than the attention core needs, and then the peak is in the MLP.
    if (mode == Recompute::None) return std::max(in_mlp, in_core - after_core) + h + unpacked;
    if (mode == Recompute::Selective)
        return std::max(in_mlp + h, again + in_core + h + 3 * queries + 2 * keys - after_core) + unpacked;
    if (mode == Recompute::Mlp) {
        const MlpModeHalves both(plan, tensors);
        return std::max(both.mlp, both.attention) + unpacked;
    }
    return std::max(again + in_mlp + 2 * h, again + in_core + 3 * h - after_core) + unpacked;
}

Count packing_peak(const Plan& plan) {
    if (!plan.layout.compress_activations) return 0;
    const Sizes z(plan);
    const Count inner = share(z.inner(), z.own_experts.value());
    return (plan.model.gated_mlp() ? 4 : 2) * inner + (z.e == 4 ? 1 : 4) * inner + (adapts(plan) ? 4 : 3) * z.hidden();
}

std::int64_t bytes_of(Dtype dtype) { return dtype == Dtype::Fp32 ? 4 : 2; }

std::int64_t product_gradient_bytes(const Numerics& numerics) {
    const std::int64_t product = bytes_of(numerics.dtype), weight = bytes_of(numerics.weight_dtype());
    return product == weight ? product : product + weight;
}

std::int64_t mask_bytes(const Plan& plan) { return plan.cluster.on_cpu() ? bytes_of(plan.numerics.dtype) : 1; }

std::int64_t statistic_bytes(const Plan& plan) {
    if (plan.model.norm == Norm::RmsNorm) return 4;
    return 2 * (plan.cluster.on_cpu() ? bytes_of(plan.numerics.dtype) : 4);
}

Count tokens(const Plan& plan) { return share(plan.data.sequence_length, plan.layout.cp) * plan.layout.micro_batch; }

}  // namespace plimsoll
