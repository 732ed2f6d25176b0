// SPDX-License-Identifier: Apache-2.0
#include "core/engine/model/families.h"

#include "core/engine/layers/attention.h"
#include "core/engine/layers/recompute.h"
#include "core/engine/layers/ring_attention.h"
#include "core/engine/layers/unread_result.h"
#include "core/engine/model/init.h"

namespace plimsoll::engine {

FamilyNames names_of(Family family) {
    if (family == Family::Gpt2) return {"transformer", "wte", "wpe", "h", "ln_f"};
    return {"model", "embed_tokens", "", "layers", "norm"};
}

torch::Tensor attend(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v, const LayerInput& input,
                     const ModelContext& context, bool training, Replay* replay) {
    AttentionDropout dropout;
    dropout.p = training ? context.plan->model.dropout : 0;
    dropout.key = input.key;
    dropout.first_head = context.tp_rank() * q.size(2);
    if (context.cp() > 1) return ring_attention(q, k, v, context.mesh->context(), dropout, replay);
    if (replay != nullptr) {
        return causal_attention(q, k, v, context.plan->numerics.attention, dropout, replay);
    }
    const auto core = [kind = context.plan->numerics.attention, dropout](const std::vector<torch::Tensor>& in) {
        return causal_attention(in[0], in[1], in[2], kind, dropout);
    };
    const bool again = context.recompute == Recompute::Selective && training && torch::GradMode::is_enabled();
    return again ? recompute(core, {q, k, v}) : core({q, k, v});
}

torch::Tensor replayed(const torch::Tensor& x, Replay* replay) {
    if (replay == nullptr) return x;
    if (replay->second()) return stands_for(x, replay->next());
    replay->keep(x);
    return x;
}

WithSideLoss residual(const torch::Tensor& x, const Branch& branch, const SublayerNorms& norms,
                      const ModelContext& context, bool training) {
    const Model& model = context.plan->model;
    if (!norms.before) {
        const bool deep = model.norm_placement == NormPlacement::DeepNorm;
        const WithSideLoss y = branch(x, nullptr);
        return {norms.behind(at::add(y.x, x, deep ? deepnorm_alpha(model) : 1)), y.side_loss};
    }
    const auto normed = [branch, norms](const torch::Tensor& in, Replay* replay) {
        WithSideLoss y = branch(norms.before(in), replay);
        if (norms.behind) y.x = norms.behind(y.x);
        return y;
    };
    const bool again = context.recompute == Recompute::Mlp && training && torch::GradMode::is_enabled();
    if (!again) {
        const WithSideLoss y = normed(x, nullptr);
        return {x + y.x, y.side_loss};
    }
    const auto body = [normed](const std::vector<torch::Tensor>& in, Replay& replay) {
        const WithSideLoss y = normed(in[0], &replay);
        return WithSideLoss{sum_of(in[0], y.x), y.side_loss};
    };
    return recompute(body, {x});
}

}  // namespace plimsoll::engine
