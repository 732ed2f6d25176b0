// SPDX-License-Identifier: Apache-2.0
#include "core/engine/layers.h"

namespace plimsoll::engine {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::tensor_list;

/// Statistics are kept in fp32, and in fp64 for fp64 inputs.
torch::Tensor widened(const torch::Tensor& x) { return x.scalar_type() == torch::kDouble ? x : x.to(torch::kFloat); }

/// at::rms_norm on the CPU is a chain of ops that saves five tensors for the backward pass; this saves the input.
struct RmsNormFunction : Function<RmsNormFunction> {
    static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& x, const torch::Tensor& weight,
                                 double eps) {
        const torch::Tensor wide = widened(x);
        torch::Tensor scale = at::linalg_vector_norm(wide, 2, at::IntArrayRef{-1}, /*keepdim=*/true);
        scale.square_().div_(x.size(-1)).add_(eps).rsqrt_();
        ctx->save_for_backward({x, weight, scale});
        return at::mul(wide, scale).to(x.scalar_type()).mul_(weight);
    }

    /// With n = x · scale and g the gradient of y = n · w: dw = Σ g n, dx = scale (g w - n mean(g w n)).
    static tensor_list backward(AutogradContext* ctx, const tensor_list& gradients) {
        const tensor_list saved = ctx->get_saved_variables();
        const torch::Tensor& scale = saved[2];
        const torch::Tensor g = widened(gradients[0]);
        const torch::Tensor w = widened(saved[1]);
        const torch::Tensor n = widened(saved[0]) * scale;
        const std::int64_t width = n.size(-1);
        const torch::Tensor gn = (g * n).view({-1, width});
        torch::Tensor dx = g * w;
        const torch::Tensor mean = at::mv(gn, w).div_(width).view(scale.sizes());
        dx.addcmul_(n, mean, -1).mul_(scale);
        return {dx.to(saved[0].scalar_type()), gn.sum(0).to(saved[1].scalar_type()), {}};
    }
};

torch::Tensor turned(const torch::Tensor& x, const torch::Tensor& cos, const torch::Tensor& sin, double direction) {
    const std::int64_t half = x.size(-1) / 2;
    const torch::Tensor a = x.narrow(-1, 0, half);
    const torch::Tensor b = x.narrow(-1, half, half);
    torch::Tensor y = at::empty(x.sizes(), x.options());
    torch::Tensor first = y.narrow(-1, 0, half);
    torch::Tensor second = y.narrow(-1, half, half);
    at::mul_out(first, a, cos).addcmul_(b, sin, -direction);
    at::mul_out(second, b, cos).addcmul_(a, sin, direction);
    return y;
}

struct RotaryFunction : Function<RotaryFunction> {
    static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& x, const torch::Tensor& cos,
                                 const torch::Tensor& sin) {
        ctx->save_for_backward({cos, sin});
        return turned(x, cos, sin, 1);
    }
    static tensor_list backward(AutogradContext* ctx, const tensor_list& gradients) {
        const tensor_list saved = ctx->get_saved_variables();
        return {turned(gradients[0], saved[0], saved[1], -1), {}, {}};
    }
};

}  // namespace

Linear::Linear(std::int64_t in, std::int64_t out, bool bias)
    : weight_(register_parameter("weight", torch::empty({out, in}))) {
    if (bias) bias_ = register_parameter("bias", torch::empty({out}));
}

Conv1d::Conv1d(std::int64_t in, std::int64_t out)
    : weight_(register_parameter("weight", torch::empty({in, out}))),
      bias_(register_parameter("bias", torch::empty({out}))) {}

torch::Tensor Conv1d::forward(const torch::Tensor& x) const {
    auto shape = x.sizes().vec();
    shape.back() = weight_.size(1);
    return at::addmm(bias_, x.reshape({-1, x.size(-1)}), weight_).view(shape);
}

Embedding::Embedding(std::int64_t rows, std::int64_t width)
    : weight_(register_parameter("weight", torch::empty({rows, width}))) {}

RmsNorm::RmsNorm(std::int64_t width, double eps)
    : weight_(register_parameter("weight", torch::empty({width}))), eps_(eps) {}

torch::Tensor RmsNorm::forward(const torch::Tensor& x) const { return RmsNormFunction::apply(x, weight_, eps_); }

LayerNorm::LayerNorm(std::int64_t width, double eps)
    : weight_(register_parameter("weight", torch::empty({width}))),
      bias_(register_parameter("bias", torch::empty({width}))),
      eps_(eps) {}

torch::Tensor LayerNorm::forward(const torch::Tensor& x) const {
    return at::layer_norm(x, {x.size(-1)}, weight_, bias_, eps_);
}

Rotary::Table Rotary::table(std::int64_t time, const torch::Tensor& like) const {
    // In fp32 throughout, as transformers does: checkpoints of either side then give the same logits.
    const auto options = torch::TensorOptions().dtype(torch::kFloat).device(like.device());
    const torch::Tensor exponent = at::arange(0, head_size_, 2, options) / static_cast<double>(head_size_);
    const torch::Tensor frequency = at::pow(theta_, exponent).reciprocal();
    const torch::Tensor angle = at::outer(at::arange(time, options), frequency).unsqueeze(1);
    return {angle.cos().to(like.scalar_type()), angle.sin().to(like.scalar_type())};
}

torch::Tensor Rotary::turn(const torch::Tensor& x, const Table& table) {
    return RotaryFunction::apply(x, table.cos, table.sin);
}

}  // namespace plimsoll::engine
