// SPDX-License-Identifier: Apache-2.0
#include "core/engine/layers/recompute.h"

#include <utility>

namespace plimsoll::engine {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::tensor_list;

/// State of a node that is no tensor.
struct Kept : torch::CustomClassHolder {
    ReplayedBody body;
    std::size_t inputs = 0;
    double side_loss = 0;  ///< of the first run
};

struct RecomputeFunction : Function<RecomputeFunction> {
    /// `path` is an empty tensor that requires a gradient. Without it autograd makes no node where no input requires a
    /// gradient (a frozen embedding), and the parameters inside the body never get theirs.
    static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& path, at::TensorList inputs,
                                 const c10::intrusive_ptr<Kept>& kept) {
        Replay first;
        const WithSideLoss output = kept->body(inputs.vec(), first);
        kept->side_loss = output.side_loss;
        tensor_list saved = inputs.vec();
        saved.insert(saved.end(), first.kept().begin(), first.kept().end());
        ctx->save_for_backward(std::move(saved));
        ctx->saved_data["kept"] = torch::IValue::make_capsule(kept);
        return output.x;
    }

    static tensor_list backward(AutogradContext* ctx, const tensor_list& gradients) {
        const auto capsule = ctx->saved_data["kept"].toCapsule();
        const auto& kept = static_cast<const Kept&>(*capsule);
        tensor_list inputs, results;
        for (const torch::Tensor& saved : ctx->get_saved_variables()) {
            const bool is_input = inputs.size() < kept.inputs;
            (is_input ? inputs : results).push_back(saved.detach().requires_grad_(is_input && saved.requires_grad()));
        }
        torch::Tensor output;
        {
            const torch::AutoGradMode with_gradients(true);
            Replay second(std::move(results));
            output = kept.body(inputs, second).x;
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
    const auto plain = [body = std::move(body)](const tensor_list& in, Replay&) { return WithSideLoss{body(in)}; };
    return recompute(plain, std::move(inputs)).x;
}

WithSideLoss recompute(ReplayedBody body, std::vector<torch::Tensor> inputs) {
    auto kept = c10::make_intrusive<Kept>();
    kept->body = std::move(body);
    kept->inputs = inputs.size();
    const torch::Tensor path = at::empty({0}, inputs.front().options().dtype(torch::kFloat)).requires_grad_();
    torch::Tensor x = RecomputeFunction::apply(path, at::TensorList(inputs), kept);
    return {std::move(x), kept->side_loss};
}

}  // namespace plimsoll::engine
