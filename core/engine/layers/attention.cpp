// SPDX-License-Identifier: Apache-2.0
#include "core/engine/layers/attention.h"

#include "core/engine/memory/host_values.h"

#include <cmath>
#include <limits>

namespace plimsoll::engine {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::tensor_list;

/// [batch, kv heads, time, head] -> [batch, heads, time, head], each key-value head serving a group of neighbours.
torch::Tensor repeated(const torch::Tensor& x, std::int64_t heads) {
    if (x.size(1) == heads) return x;
    const std::int64_t group = heads / x.size(1);
    return x.unsqueeze(2).expand({x.size(0), x.size(1), group, x.size(2), x.size(3)}).flatten(1, 2);
}

/// [batch, heads, time, head] -> [batch, time, heads · head], and back.
torch::Tensor joined(const torch::Tensor& x) {
    return x.transpose(1, 2).reshape({x.size(0), x.size(2), x.size(1) * x.size(3)});
}
torch::Tensor in_heads(const torch::Tensor& x, std::int64_t heads) {
    return x.view({x.size(0), x.size(1), heads, x.size(2) / heads}).transpose(1, 2);
}

torch::Tensor probabilities(const torch::Tensor& q, const torch::Tensor& k, const AttentionDropout& dropout) {
    const std::int64_t time = q.size(2);
    torch::Tensor scores = at::matmul(q, repeated(k, q.size(1)).transpose(-2, -1));
    scores.mul_(1 / std::sqrt(static_cast<double>(q.size(3))));
    scores.add_(at::full({time, time}, -std::numeric_limits<double>::infinity(), scores.options()).triu_(1));
    return attention_dropout(at::softmax(scores, -1), dropout.p, dropout.key, dropout.first_head);
}

/// p v with a known result; only the backward is computed.
struct KnownProduct : Function<KnownProduct> {
    static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& p, const torch::Tensor& v,
                                 const torch::Tensor& known) {
        ctx->save_for_backward({p, v});
        return known.view_as(known);
    }
    static tensor_list backward(AutogradContext* ctx, const tensor_list& gradients) {
        const tensor_list saved = ctx->get_saved_variables();
        const torch::Tensor &p = saved[0], &v = saved[1];
        const torch::Tensor g = in_heads(gradients[0], p.size(1));
        return {at::matmul(g, v.transpose(-2, -1)), at::matmul(p.transpose(-2, -1), g), {}};
    }
};

/// The CPU's flash kernel with a known result and log of sums; only the backward is computed.
struct KnownFlash : Function<KnownFlash> {
    static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& q, const torch::Tensor& k,
                                 const torch::Tensor& v, const torch::Tensor& known, const torch::Tensor& log_sum) {
        ctx->save_for_backward({q, k, v, known, log_sum});
        return known.view_as(known);
    }
    static tensor_list backward(AutogradContext* ctx, const tensor_list& gradients) {
        const tensor_list saved = ctx->get_saved_variables();
        const std::int64_t heads = saved[0].size(1);
        auto [dq, dk, dv] = at::_scaled_dot_product_flash_attention_for_cpu_backward(
            in_heads(gradients[0], heads), saved[0], saved[1], saved[2], in_heads(saved[3], heads), saved[4], 0,
            /*is_causal=*/true);
        return {dq, dk, dv, {}, {}};
    }
};

/// Whether these tensors take the flash kernel. Tensors without memory (a dry run) stand for tensors on a GPU, whose
/// kernels take no fp64, and no grouped heads in fp32; PyTorch itself gives them to no fused kernel.
bool takes_flash_kernel(const torch::Tensor& q, bool grouped) {
    const bool wide = q.scalar_type() == torch::kDouble || (q.scalar_type() == torch::kFloat && grouped);
    return on_cpu(q) || (q.is_meta() && !wide);
}

torch::Tensor fused(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v) {
    const bool grouped = q.size(1) != k.size(1);
    if (q.is_meta() && takes_flash_kernel(q, grouped)) {
        return std::get<0>(at::_scaled_dot_product_flash_attention_for_cpu(q, k, v, 0, /*is_causal=*/true));
    }
    return at::scaled_dot_product_attention(q, k, v, /*attn_mask=*/{}, 0, /*is_causal=*/true, /*scale=*/std::nullopt,
                                            /*enable_gqa=*/grouped);
}

torch::Tensor replayed_flash(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v, Replay& replay) {
    if (replay.second()) {
        const torch::Tensor known = replay.next(), log_sum = replay.next();
        return KnownFlash::apply(q, k, v, known, log_sum);
    }
    const auto [result, log_sum] = at::_scaled_dot_product_flash_attention_for_cpu(q, k, v, 0, /*is_causal=*/true);
    const torch::Tensor output = joined(result);
    replay.keep(output);
    replay.keep(log_sum);
    return output;
}

torch::Tensor eager(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                    const AttentionDropout& dropout, Replay* replay) {
    const torch::Tensor p = probabilities(q, k, dropout), values = repeated(v, q.size(1));
    if (replay != nullptr && replay->second()) return KnownProduct::apply(p, values, replay->next());
    const torch::Tensor output = joined(at::matmul(p, values));
    if (replay != nullptr) replay->keep(output);
    return output;
}

}  // namespace

torch::Tensor causal_attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v, Attention kind,
                               const AttentionDropout& dropout, Replay* replay) {
    const torch::Tensor heads_q = q.transpose(1, 2), heads_k = k.transpose(1, 2), heads_v = v.transpose(1, 2);
    if (kind == Attention::Eager || dropout.p > 0) return eager(heads_q, heads_k, heads_v, dropout, replay);
    if (replay != nullptr && takes_flash_kernel(heads_q, q.size(2) != k.size(2))) {
        return replayed_flash(heads_q, heads_k, heads_v, *replay);
    }
    return joined(fused(heads_q, heads_k, heads_v));
}

}  // namespace plimsoll::engine
