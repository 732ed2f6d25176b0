// SPDX-License-Identifier: Apache-2.0
#include "core/engine/model/chunked_loss.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/engine/layers/autocast.h"
#include "core/engine/memory/host_values.h"

namespace plimsoll::engine {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::tensor_list;

/// The gradients, times the number of tokens. They are not in save_for_backward(), whose tensors may be compressed.
struct Gradients : torch::CustomClassHolder {
    torch::Tensor hidden;  ///< [tokens, width], in the dtype of hidden
    torch::Tensor weight;  ///< fp32 or fp64
    bool taken = false;
};

struct ZLoss {
    double weight = 0;
    double sum = 0;  ///< of the squares, over the tokens so far
};

/// Turns logits into p - onehot(y), with a z-loss p (1 + 2 w log Σ exp) - onehot(y), in place, and gives the sum of the
/// cross-entropies.
torch::Tensor loss_and_gradient(torch::Tensor& z, const torch::Tensor& targets, ZLoss& z_loss) {
    const torch::Tensor index = targets.unsqueeze(1);
    const torch::Tensor top = z.amax(1, /*keepdim=*/true);
    z.sub_(top);
    const torch::Tensor at_target = z.gather(1, index);
    z.exp_();
    const torch::Tensor total = z.sum(1, /*keepdim=*/true);
    const torch::Tensor log_total = total.log();
    z.div_(total);
    if (z_loss.weight > 0) {
        const torch::Tensor log_z = log_total + top;
        z_loss.sum += host_values(log_z.square().sum(torch::kDouble)).item<double>();
        z.mul_(log_z.mul(2 * z_loss.weight).add_(1));
    }
    z.scatter_(1, index, z.gather(1, index).sub_(1));
    return (log_total - at_target).sum(torch::kDouble);
}

struct ChunkedLoss : Function<ChunkedLoss> {
    static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& hidden, const torch::Tensor& weight,
                                 const torch::Tensor& targets, std::int64_t chunks, bool with_gradients,
                                 const std::shared_ptr<ZLoss>& z_loss) {
        const auto wide = weight.scalar_type() == torch::kDouble ? torch::kDouble : torch::kFloat;
        const torch::Tensor flat = hidden.reshape({-1, hidden.size(-1)}), flat_targets = targets.reshape({-1});
        const std::int64_t tokens = flat.size(0), at_once = (tokens + chunks - 1) / chunks;
        auto gradients = c10::make_intrusive<Gradients>();
        if (with_gradients && hidden.requires_grad()) gradients->hidden = at::empty(flat.sizes(), flat.options());
        if (with_gradients && weight.requires_grad()) {
            gradients->weight = at::zeros(weight.sizes(), weight.options().dtype(wide));
        }

        const torch::Tensor w = cast_like(weight, hidden);
        torch::Tensor sum = at::zeros({}, weight.options().dtype(torch::kDouble));
        for (std::int64_t begin = 0; begin < tokens; begin += at_once) {
            const std::int64_t count = std::min(at_once, tokens - begin);
            const torch::Tensor piece = flat.narrow(0, begin, count);
            torch::Tensor z = at::linear(piece, w).to(wide);
            sum += loss_and_gradient(z, flat_targets.narrow(0, begin, count), *z_loss);
            const torch::Tensor dz = z.to(w.scalar_type());
            if (gradients->hidden.defined()) {
                torch::Tensor dhidden = gradients->hidden.narrow(0, begin, count);
                at::mm_out(dhidden, dz, w);
            }
            if (!gradients->weight.defined()) continue;
            if (w.scalar_type() == wide) {
                gradients->weight.addmm_(dz.t(), piece);
            } else {
                gradients->weight.add_(at::mm(dz.t(), piece));
            }
        }
        ctx->saved_data["gradients"] = torch::IValue::make_capsule(gradients);
        ctx->saved_data["tokens"] = tokens;
        ctx->saved_data["dtype"] = weight.scalar_type();
        ctx->saved_data["shape"] = hidden.sizes().vec();
        return sum.div_(tokens).to(wide);
    }

    static tensor_list backward(AutogradContext* ctx, const tensor_list& incoming) {
        const auto capsule = ctx->saved_data["gradients"].toCapsule();
        auto& gradients = static_cast<Gradients&>(*capsule);
        TORCH_CHECK(!std::exchange(gradients.taken, true), "the chunked loss goes backward once only");
        const torch::Tensor factor = incoming[0] / ctx->saved_data["tokens"].toInt();
        torch::Tensor hidden = std::exchange(gradients.hidden, {}), weight = std::exchange(gradients.weight, {});
        if (hidden.defined()) hidden = hidden.mul_(factor).view(ctx->saved_data["shape"].toIntVector());
        if (weight.defined()) weight = weight.mul_(factor).to(ctx->saved_data["dtype"].toScalarType());
        return {hidden, weight, {}, {}, {}, {}};
    }
};

}  // namespace

torch::Tensor chunked_language_model_loss(const torch::Tensor& hidden, const torch::Tensor& head_weight,
                                          const torch::Tensor& targets, std::int64_t chunks, double z_loss,
                                          double* z_loss_value) {
    const std::int64_t pieces = std::clamp<std::int64_t>(chunks, 1, std::max<std::int64_t>(1, targets.numel()));
    const auto z = std::make_shared<ZLoss>(ZLoss{z_loss, 0});
    torch::Tensor loss = ChunkedLoss::apply(hidden, head_weight, targets, pieces, torch::GradMode::is_enabled(), z);
    if (z_loss_value != nullptr) *z_loss_value += z_loss * z->sum / static_cast<double>(targets.numel());
    return loss;
}

}  // namespace plimsoll::engine
