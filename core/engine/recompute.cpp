// SPDX-License-Identifier: Apache-2.0
#include "core/engine/recompute.h"

#include <utility>

namespace plimsoll::engine {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::tensor_list;

/// What a node keeps beside tensors.
struct Kept : torch::CustomClassHolder {
    RecomputedBody body;
};

struct RecomputeFunction : Function<RecomputeFunction> {
    /// `path` is an empty tensor that requires a gradient: without it the node would be left out where no input does
    /// (a frozen embedding), and the parameters inside would never get theirs.
    static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& path, at::TensorList inputs,
                                 const c10::intrusive_ptr<Kept>& kept) {
        ctx->save_for_backward(inputs.vec());
        ctx->saved_data["kept"] = torch::IValue::make_capsule(kept);
        return kept->body(inputs.vec());
    }

    static tensor_list backward(AutogradContext* ctx, const tensor_list& gradients) {
        const auto capsule = ctx->saved_data["kept"].toCapsule();
        const auto& kept = static_cast<const Kept&>(*capsule);
        tensor_list inputs;
        for (const torch::Tensor& saved : ctx->get_saved_variables()) {
            inputs.push_back(saved.detach().requires_grad_(saved.requires_grad()));
        }
        torch::Tensor output;
        {
            const torch::AutoGradMode with_gradients(true);
            output = kept.body(inputs);
        }
        if (output.requires_grad()) torch::autograd::backward({output}, {gradients[0]});

        tensor_list result{torch::Tensor()};
        for (const torch::Tensor& input : inputs) result.push_back(input.grad());
        result.emplace_back();
        return result;
    }
};

}  // namespace

torch::Tensor recompute(RecomputedBody body, std::vector<torch::Tensor> inputs) {
    auto kept = c10::make_intrusive<Kept>();
    kept->body = std::move(body);
    const torch::Tensor path = at::empty({0}, inputs.front().options().dtype(torch::kFloat)).requires_grad_();
    return RecomputeFunction::apply(path, at::TensorList(inputs), kept);
}

}  // namespace plimsoll::engine
