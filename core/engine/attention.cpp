// SPDX-License-Identifier: Apache-2.0
#include "core/engine/attention.h"

#include "core/engine/host_values.h"

#include <cmath>
#include <limits>

namespace plimsoll::engine {

namespace {

/// [batch, kv heads, time, head] -> [batch, heads, time, head], each key-value head serving a group of neighbours.
torch::Tensor repeated(const torch::Tensor& x, std::int64_t heads) {
    if (x.size(1) == heads) return x;
    const std::int64_t group = heads / x.size(1);
    return x.unsqueeze(2).expand({x.size(0), x.size(1), group, x.size(2), x.size(3)}).flatten(1, 2);
}

torch::Tensor eager(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                    const AttentionDropout& dropout) {
    const std::int64_t time = q.size(2);
    torch::Tensor scores = at::matmul(q, repeated(k, q.size(1)).transpose(-2, -1));
    scores.mul_(1 / std::sqrt(static_cast<double>(q.size(3))));
    scores.add_(at::full({time, time}, -std::numeric_limits<double>::infinity(), scores.options()).triu_(1));
    const torch::Tensor kept = attention_dropout(at::softmax(scores, -1), dropout.p, dropout.key, dropout.first_head);
    return at::matmul(kept, repeated(v, q.size(1)));
}

torch::Tensor fused(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v) {
    const bool grouped = q.size(1) != k.size(1);
    // Tensors without memory (a dry run) are never given to a fused kernel, which those that they stand for are: CUDA's
    // take no fp64, and no grouped heads in fp32.
    const bool wide = q.scalar_type() == torch::kDouble || (q.scalar_type() == torch::kFloat && grouped);
    if (q.is_meta() && (on_cpu(q) || !wide)) {
        return std::get<0>(at::_scaled_dot_product_flash_attention_for_cpu(q, k, v, 0, /*is_causal=*/true));
    }
    return at::scaled_dot_product_attention(q, k, v, /*attn_mask=*/{}, 0, /*is_causal=*/true, /*scale=*/std::nullopt,
                                            /*enable_gqa=*/grouped);
}

}  // namespace

torch::Tensor causal_attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v, Attention kind,
                               const AttentionDropout& dropout) {
    const torch::Tensor heads_q = q.transpose(1, 2), heads_k = k.transpose(1, 2), heads_v = v.transpose(1, 2);
    const torch::Tensor context = kind == Attention::Eager || dropout.p > 0 ? eager(heads_q, heads_k, heads_v, dropout)
                                                                            : fused(heads_q, heads_k, heads_v);
    return context.transpose(1, 2).reshape({q.size(0), q.size(1), q.size(2) * q.size(3)});
}

}  // namespace plimsoll::engine
