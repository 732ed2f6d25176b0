// SPDX-License-Identifier: Apache-2.0
#include "core/engine/layers/tensor_parallel.h"

#include "core/engine/layers/unread_result.h"
#include "core/engine/ranks/held_group.h"

namespace plimsoll::engine {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::tensor_list;

/// [batch, time / n, …] of every rank -> [batch, time, …].
torch::Tensor gathered(const torch::Tensor& x, Collectives& ranks) {
    const std::int64_t n = ranks.world_size();
    auto sizes = x.sizes().vec();
    const torch::Tensor part = x.contiguous();
    sizes.insert(sizes.begin(), n);
    torch::Tensor parts = at::empty(sizes, x.options());
    must(ranks.all_gather(parts, part)->wait());
    sizes.erase(sizes.begin());
    sizes[1] *= n;
    return parts.transpose(0, 1).reshape(sizes);
}

/// [batch, time, …] -> this rank's [batch, time / n, …] of the sum.
torch::Tensor scattered_sum(const torch::Tensor& x, Collectives& ranks) {
    const std::int64_t n = ranks.world_size();
    auto sizes = x.sizes().vec();
    sizes[1] /= n;
    auto split = sizes;
    split.insert(split.begin() + 1, n);
    const torch::Tensor parts = x.reshape(split).transpose(0, 1).contiguous();
    torch::Tensor part = at::empty(sizes, x.options());
    must(ranks.reduce_scatter_sum(part, parts)->wait());
    return part;
}

struct SumGradient : Function<SumGradient> {
    static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& x, const HeldGroupPointer& group) {
        keep(ctx, group);
        return x.view_as(x);
    }
    static tensor_list backward(AutogradContext* ctx, const tensor_list& gradients) {
        const torch::Tensor sum = gradients[0].clone(at::MemoryFormat::Contiguous);
        must(kept_ranks(ctx).all_reduce_sum(sum)->wait());
        return {sum, {}};
    }
};

struct Sum : Function<Sum> {
    static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& x, const HeldGroupPointer& group) {
        ctx->set_materialize_grads(false);
        if (is_left_out(x)) return x.view_as(x);
        const torch::Tensor sum = x.clone(at::MemoryFormat::Contiguous);
        must(group->ranks->all_reduce_sum(sum)->wait());
        return sum;
    }
    static tensor_list backward(AutogradContext*, const tensor_list& gradients) { return {gradients[0], {}}; }
};

struct GatherSequence : Function<GatherSequence> {
    static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& x, const HeldGroupPointer& group) {
        keep(ctx, group);
        return gathered(x, *group->ranks);
    }
    static tensor_list backward(AutogradContext* ctx, const tensor_list& gradients) {
        return {scattered_sum(gradients[0], kept_ranks(ctx)), {}};
    }
};

struct ScatterSum : Function<ScatterSum> {
    static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& x, const HeldGroupPointer& group) {
        keep(ctx, group);
        if (!is_left_out(x)) return scattered_sum(x, *group->ranks);
        auto sizes = x.sizes().vec();
        sizes[1] /= group->ranks->world_size();
        return left_out(sizes, x.options());
    }
    static tensor_list backward(AutogradContext* ctx, const tensor_list& gradients) {
        return {gathered(gradients[0], kept_ranks(ctx)), {}};
    }
};

}  // namespace

torch::Tensor enter_tensor_parallel(const torch::Tensor& x, const ModelContext& context) {
    if (context.tp() == 1) return x;
    const HeldGroupPointer group = held(context.tensor());
    return context.sequence_parallel() ? GatherSequence::apply(x, group) : SumGradient::apply(x, group);
}

torch::Tensor leave_tensor_parallel(const torch::Tensor& x, const ModelContext& context) {
    if (context.tp() == 1) return x;
    const HeldGroupPointer group = held(context.tensor());
    return context.sequence_parallel() ? ScatterSum::apply(x, group) : Sum::apply(x, group);
}

torch::Tensor sum_over_context(torch::Tensor x, const ModelContext& context) {
    must(context.mesh->context().all_reduce_sum(x)->wait());
    return x;
}

}  // namespace plimsoll::engine
