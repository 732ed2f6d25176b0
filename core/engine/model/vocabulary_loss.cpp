// SPDX-License-Identifier: Apache-2.0
#include "core/engine/model/vocabulary_loss.h"

#include <limits>
#include <memory>

#include "core/engine/memory/host_values.h"
#include "core/engine/ranks/held_group.h"

namespace plimsoll::engine {

namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::tensor_list;

struct VocabularyZLoss {
    double weight = 0;
    double squares = 0;
};

struct VocabularyParallelLoss : Function<VocabularyParallelLoss> {
    static Tensor forward(AutogradContext* ctx, const Tensor& logits, const Tensor& targets, std::int64_t begin,
                          const HeldGroupPointer& group, const std::shared_ptr<VocabularyZLoss>& z_loss) {
        Collectives& ranks = *group->ranks;
        const std::int64_t width = logits.size(1);
        const Tensor wide = logits.scalar_type() == torch::kDouble ? logits : logits.to(torch::kFloat);
        const double lowest = -std::numeric_limits<double>::infinity();
        // A rank behind the end of a small vocabulary has no column at all.
        const Tensor top = width > 0 ? wide.amax(1) : at::full({wide.size(0)}, lowest, wide.options());
        must(ranks.all_reduce_max(top)->wait());
        Tensor p = (wide - top.unsqueeze(1)).exp_();

        const Tensor local = targets - begin;
        const Tensor elsewhere = at::logical_or(local.lt(0), local.ge(width));
        const Tensor column = local.masked_fill(elsewhere, 0).unsqueeze(1);
        // [sum of exponentials, logit of the target - top]
        Tensor both = at::zeros({2, wide.size(0)}, wide.options());
        if (width > 0) {
            both[0].copy_(p.sum(1));
            both[1].copy_((wide.gather(1, column).squeeze(1) - top).masked_fill_(elsewhere, 0));
        }
        must(ranks.all_reduce_sum(both)->wait());
        p.div_(both[0].unsqueeze(1));
        if (z_loss->weight > 0) {
            const Tensor log_z = both[0].log() + top;
            z_loss->squares = host_values(log_z.square().sum(torch::kDouble)).item<double>();
            p.mul_(log_z.mul(2 * z_loss->weight).add_(1).unsqueeze(1));
        }
        ctx->save_for_backward({p, column, elsewhere});
        ctx->saved_data["dtype"] = static_cast<std::int64_t>(logits.scalar_type());
        return (both[0].log() - both[1]).sum();
    }

    /// The gradient: softmax (times the z-loss's factor) - 1 at the target, times the incoming gradient.
    static tensor_list backward(AutogradContext* ctx, const tensor_list& gradients) {
        const tensor_list saved = ctx->get_saved_variables();
        Tensor d = saved[0].clone();
        if (d.size(1) > 0) {
            const Tensor here = saved[2].logical_not().to(d.scalar_type()).unsqueeze(1);
            d.scatter_add_(1, saved[1], -here);
        }
        d.mul_(gradients[0]);
        return {d.to(static_cast<torch::ScalarType>(ctx->saved_data["dtype"].toInt())), {}, {}, {}, {}};
    }
};

}  // namespace

torch::Tensor vocabulary_parallel_loss(const torch::Tensor& logits, const torch::Tensor& targets, std::int64_t begin,
                                       Collectives& ranks, double z_loss, double* z_squares) {
    const auto z = std::make_shared<VocabularyZLoss>(VocabularyZLoss{z_loss, 0});
    const Tensor loss = VocabularyParallelLoss::apply(logits, targets, begin, held(ranks), z);
    if (z_squares != nullptr) *z_squares += z->squares;
    return loss;
}

torch::Tensor gathered_vocabulary(const torch::Tensor& logits, std::int64_t vocab, Collectives& ranks) {
    const torch::NoGradGuard no_grad;
    const std::int64_t n = ranks.world_size();
    const std::int64_t share = (vocab + n - 1) / n;
    auto sizes = logits.sizes().vec();
    sizes.back() = share;
    Tensor padded = at::zeros(sizes, logits.options());
    padded.narrow(-1, 0, logits.size(-1)).copy_(logits);
    sizes.insert(sizes.begin(), n);
    Tensor parts = at::empty(sizes, logits.options());
    must(ranks.all_gather(parts, padded)->wait());
    return at::cat(parts.unbind(0), -1).narrow(-1, 0, vocab).contiguous();
}

}  // namespace plimsoll::engine
