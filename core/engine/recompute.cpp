// SPDX-License-Identifier: Apache-2.0
#include "core/engine/recompute.h"

#include <mutex>
#include <utility>

namespace plimsoll::engine {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::tensor_list;

torch::Tensor random_state(at::Generator generator) {
    const std::lock_guard lock(generator.mutex());
    return generator.get_state();
}

/// Sets the generator to an earlier state and puts the present one back at the end.
class Replay {
public:
    Replay(at::Generator generator, const torch::Tensor& state)
        : generator_(std::move(generator)), present_(random_state(generator_)) {
        set(state);
    }
    ~Replay() { set(present_); }
    Replay(const Replay&) = delete;
    Replay& operator=(const Replay&) = delete;

private:
    void set(const torch::Tensor& state) {
        const std::lock_guard lock(generator_.mutex());
        generator_.set_state(state);
    }
    at::Generator generator_;
    torch::Tensor present_;
};

/// What a node keeps beside tensors.
struct Kept : torch::CustomClassHolder {
    RecomputedBody body;
    torch::Tensor random_state;  ///< undefined: the body draws no random numbers
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
            std::optional<Replay> replay;
            if (kept.random_state.defined()) {
                replay.emplace(at::globalContext().defaultGenerator(inputs.front().device()), kept.random_state);
            }
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

torch::Tensor recompute(RecomputedBody body, std::vector<torch::Tensor> inputs, bool random) {
    auto kept = c10::make_intrusive<Kept>();
    kept->body = std::move(body);
    const torch::Device device = inputs.front().device();
    // The meta device computes no values and has no generator.
    if (random && !device.is_meta()) kept->random_state = random_state(at::globalContext().defaultGenerator(device));
    const torch::Tensor path = at::empty({0}, inputs.front().options().dtype(torch::kFloat)).requires_grad_();
    return RecomputeFunction::apply(path, at::TensorList(inputs), kept);
}

}  // namespace plimsoll::engine
