// SPDX-License-Identifier: Apache-2.0
#include "core/engine/families.h"

#include "core/engine/attention.h"
#include "core/engine/recompute.h"
#include "core/engine/ring_attention.h"

namespace plimsoll::engine {

FamilyNames names_of(Family family) {
    if (family == Family::Gpt2) return {"transformer", "wte", "wpe", "h", "ln_f"};
    return {"model", "embed_tokens", "", "layers", "norm"};
}

torch::Tensor attend(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v, const LayerInput& input,
                     const ModelContext& context, bool training) {
    if (context.cp() > 1) return ring_attention(q, k, v, context.mesh->context());
    AttentionDropout dropout;
    dropout.p = training ? context.plan->model.dropout : 0;
    dropout.key = input.key;
    dropout.first_head = context.tp_rank() * q.size(2);
    const auto core = [kind = context.plan->numerics.attention, dropout](const std::vector<torch::Tensor>& in) {
        return causal_attention(in[0], in[1], in[2], kind, dropout);
    };
    const bool again = context.recompute == Recompute::Selective && training && torch::GradMode::is_enabled();
    return again ? recompute(core, {q, k, v}) : core({q, k, v});
}

}  // namespace plimsoll::engine
