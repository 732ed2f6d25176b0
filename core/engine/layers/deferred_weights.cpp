// SPDX-License-Identifier: Apache-2.0
#include "core/engine/layers/deferred_weights.h"

#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>

#include "core/engine/layers/autocast.h"
#include "core/engine/layers/unread_result.h"

namespace plimsoll::engine {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::tensor_list;

torch::Tensor rows_of(const torch::Tensor& x) { return x.reshape({-1, x.size(-1)}); }

torch::Tensor weight_gradient(const torch::Tensor& x, const torch::Tensor& g, bool transposed,
                              torch::ScalarType dtype) {
    return (transposed ? at::mm(x.t(), g) : at::mm(g.t(), x)).to(dtype);
}

void accumulate(torch::Tensor weight, const torch::Tensor& x, const torch::Tensor& g, bool transposed) {
    const torch::NoGradGuard no_grad;
    torch::Tensor& grad = weight.mutable_grad();
    if (!grad.defined()) {
        grad = weight_gradient(x, g, transposed, weight.scalar_type());
    } else if (grad.scalar_type() == x.scalar_type()) {
        grad.addmm_(transposed ? x.t() : g.t(), transposed ? g : x);
    } else {
        grad.add_(weight_gradient(x, g, transposed, x.scalar_type()));
    }
    if (const auto& hook = torch::autograd::impl::post_acc_grad_hooks(weight)) (*hook)(weight);
}

struct Queue : torch::CustomClassHolder {
    std::shared_ptr<DeferredWeights> deferred;
};

struct DeferrableLinear : Function<DeferrableLinear> {
    static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& x, const torch::Tensor& weight,
                                 bool transposed, const c10::intrusive_ptr<Queue>& queue, bool leave_out) {
        // A frozen weight needs no input for its gradient.
        ctx->save_for_backward({weight.requires_grad() ? x : torch::Tensor(), weight});
        ctx->saved_data["sizes"] = x.sizes().vec();
        ctx->saved_data["transposed"] = transposed;
        ctx->saved_data["queue"] = torch::IValue::make_capsule(queue);
        if (leave_out) {
            auto sizes = x.sizes().vec();
            sizes.back() = weight.size(transposed ? 1 : 0);
            return left_out(sizes, x.options());
        }
        const torch::Tensor w = cast_like(weight, x);
        return transposed ? at::matmul(x, w) : at::linear(x, w);
    }

    static tensor_list backward(AutogradContext* ctx, const tensor_list& gradients) {
        const tensor_list saved = ctx->get_saved_variables();
        const bool transposed = ctx->saved_data["transposed"].toBool();
        const auto capsule = ctx->saved_data["queue"].toCapsule();
        const auto& deferred = static_cast<const Queue&>(*capsule).deferred;
        const torch::Tensor& weight = saved[1];
        const torch::Tensor g = rows_of(gradients[0]);
        torch::Tensor gx;
        if (ctx->needs_input_grad(0)) {
            const torch::Tensor w = cast_like(weight, g);
            gx = at::mm(g, transposed ? w.t() : w).view(ctx->saved_data["sizes"].toIntVector());
        }
        if (!ctx->needs_input_grad(1)) return {gx, {}, {}, {}, {}};
        const torch::Tensor x = rows_of(saved[0]);
        if (deferred == nullptr || !deferred->deferring()) {
            return {gx, weight_gradient(x, g, transposed, weight.scalar_type()), {}, {}, {}};
        }
        deferred->add([weight, x, g, transposed] { accumulate(weight, x, g, transposed); });
        return {gx, {}, {}, {}, {}};
    }
};

}  // namespace

void DeferredWeights::begin(std::int64_t key) {
    lists_.emplace_back(key, std::make_unique<std::vector<std::function<void()>>>());
    open_ = lists_.back().second.get();
}

void DeferredWeights::run(std::int64_t key) {
    const auto found = std::find_if(lists_.begin(), lists_.end(), [&](const auto& list) { return list.first == key; });
    if (found == lists_.end()) return;
    const auto list = std::move(found->second);
    lists_.erase(found);
    for (auto& product : *list) {
        product();
        product = nullptr;  // frees the product's tensors at once
    }
}

torch::Tensor deferrable_linear(const torch::Tensor& x, const torch::Tensor& weight, bool transposed,
                                const std::shared_ptr<DeferredWeights>& deferred, bool leave_out) {
    auto queue = c10::make_intrusive<Queue>();
    queue->deferred = deferred;
    return DeferrableLinear::apply(x, weight, transposed, queue, leave_out);
}

}  // namespace plimsoll::engine
