// SPDX-License-Identifier: Apache-2.0
#include "core/engine/layers/layers.h"

#include "core/engine/layers/autocast.h"
#include "core/engine/layers/tensor_parallel.h"
#include "core/engine/layers/unread_result.h"
#include "core/engine/layers/widened.h"
#include "core/plan/adapter.h"

namespace plimsoll::engine {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::tensor_list;

/// Statistics are kept in fp32, and in fp64 for fp64 inputs.
/// at::rms_norm on the CPU is a chain of ops that saves five tensors for the backward pass; this function saves only
/// the input.
struct RmsNormFunction : Function<RmsNormFunction> {
    static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& x, const torch::Tensor& weight,
                                 double eps) {
        const torch::Tensor wide = widened(x);
        torch::Tensor scale = at::linalg_vector_norm(wide, 2, at::IntArrayRef{-1}, /*keepdim=*/true);
        scale.square_().div_(x.size(-1)).add_(eps).rsqrt_();
        ctx->save_for_backward({x, weight, scale});
        return at::mul(wide, scale).to(x.scalar_type()).mul_(cast_like(weight, x));
    }

    /// With n = x · scale and g the gradient of y = n · w: dw = Σ g n, dx = scale (g w - n mean(g w n)).
    static tensor_list backward(AutogradContext* ctx, const tensor_list& gradients) {
        const tensor_list saved = ctx->get_saved_variables();
        const torch::Tensor& scale = saved[2];
        const torch::Tensor g = widened(gradients[0]);
        const torch::Tensor w = widened(saved[1]);
        const torch::Tensor n = widened(saved[0]) * scale;
        const std::int64_t width = n.size(-1);
        const torch::Tensor gn = (g * n).reshape({-1, width});
        torch::Tensor dx = g * w;
        const torch::Tensor mean = at::mv(gn, w).div_(width).view(scale.sizes());
        dx.addcmul_(n, mean, -1).mul_(scale);
        const torch::Tensor dw = ctx->needs_input_grad(1) ? gn.sum(0).to(saved[1].scalar_type()) : torch::Tensor();
        return {dx.to(saved[0].scalar_type()), dw, {}};
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
        return is_left_out(x) ? x.view_as(x) : turned(x, cos, sin, 1);
    }
    static tensor_list backward(AutogradContext* ctx, const tensor_list& gradients) {
        const tensor_list saved = ctx->get_saved_variables();
        return {turned(gradients[0], saved[0], saved[1], -1), {}, {}};
    }
};

}  // namespace

namespace {

/// Ranges of a rank in `fused` matrices that lie side by side along one dimension of `size`.
Shard fused_shard(std::vector<std::int64_t> whole, std::int64_t dim, std::int64_t fused, int rank, int ranks) {
    if (ranks == 1) return replicated(std::move(whole), 1);
    const std::int64_t each = whole[static_cast<std::size_t>(dim)] / fused;
    Shard shard;
    shard.dim = dim;
    shard.whole = std::move(whole);
    for (std::int64_t i = 0; i < fused; ++i) {
        const std::int64_t share = each / ranks;
        shard.ranges.emplace_back(i * each + rank * share, share);
    }
    return shard;
}

Shard linear_shard(const Linear::Shape& s, bool bias, const ModelContext& context) {
    const int tp = context.tp();
    std::vector<std::int64_t> whole{s.out};
    if (!bias) whole = s.transposed ? std::vector<std::int64_t>{s.in, s.out} : std::vector<std::int64_t>{s.out, s.in};
    const std::int64_t out_dim = !bias && s.transposed ? 1 : 0;
    if (s.split == MatrixSplit::Columns) {
        const int sharing = static_cast<int>(s.shared_by);
        Shard shard = s.fused > 1 ? fused_shard(std::move(whole), out_dim, s.fused, context.tp_rank(), tp)
                                  : shard_along(std::move(whole), out_dim, context.tp_rank() / sharing, tp / sharing);
        if (sharing > 1) {
            shard.replicas = sharing;
            shard.gradient = Shard::Gradient::PartOverSharedHeads;
        }
        return shard;
    }
    if (s.split == MatrixSplit::Rows && !bias) {
        return shard_along(std::move(whole), s.transposed ? 0 : 1, context.tp_rank(), tp);
    }
    Shard shard = replicated(std::move(whole), tp);
    if (context.sequence_parallel()) shard.gradient = Shard::Gradient::PartOverTensor;
    return shard;
}

/// A [rank, in] or B [out, rank] of a matrix that is split as `s` says.
Shard adapter_shard(const Linear::Shape& s, bool down, const ModelContext& context) {
    Linear::Shape low = s;
    low.transposed = false;
    (down ? low.out : low.in) = s.adapter_rank;
    if (down == (s.split == MatrixSplit::Rows)) {
        if (down) low.fused = 1;
        return linear_shard(low, false, context);
    }
    // All ranks hold this matrix whole. A rank's gradient of it comes from the rank's part of the other matrix, and the
    // ranks' gradients are summed.
    Shard shard = replicated({low.out, low.in}, context.tp());
    if (context.tp() > 1 && (s.split != MatrixSplit::None || context.sequence_parallel())) {
        shard.gradient = Shard::Gradient::PartOverTensor;
    }
    return shard;
}

/// One of an adapter's two matrices, as the module in which PEFT keeps it.
class LowRank : public ShardedModule {
public:
    LowRank(Shard shard, const ModelContext& context)
        : weight(register_sharded("weight", std::move(shard), context.parameters)) {}
    torch::Tensor weight;
};

Shard norm_shard(std::int64_t width, const ModelContext& context, bool per_head = false) {
    Shard shard = replicated({width}, context.tp());
    if (context.sequence_parallel() || (per_head && context.tp() > 1)) shard.gradient = Shard::Gradient::PartOverTensor;
    return shard;
}

}  // namespace

Linear::Linear(const Shape& shape, const ModelContext& context)
    : shape_(shape),
      context_(context),
      weight_(register_sharded("weight", linear_shard(shape, false, context), context.parameters)) {
    if (shape.bias) bias_ = register_sharded("bias", linear_shard(shape, true, context), context.parameters);
    if (shape.adapter_rank == 0) return;
    down_ = register_module("lora_A", std::make_shared<LowRank>(adapter_shard(shape, true, context), context))->weight;
    up_ = register_module("lora_B", std::make_shared<LowRank>(adapter_shard(shape, false, context), context))->weight;
}

Linear::Shape with_adapter(Linear::Shape shape, const Plan& plan, std::string_view module) {
    if (adapts(plan, module)) shape.adapter_rank = plan.adapter.rank;
    return shape;
}

torch::Tensor Linear::adapted(const torch::Tensor& x, const torch::Tensor& y) const {
    if (!down_.defined()) return y;
    const bool casts = down_.scalar_type() != x.scalar_type();
    const torch::Tensor inner = casts ? deferrable_linear(x, down_, false, nullptr) : at::linear(x, down_);
    const torch::Tensor low = inner.reshape({-1, shape_.adapter_rank});
    const double scale = adapter_scale(context_.plan->adapter);
    return at::addmm(y.reshape({-1, y.size(-1)}), low, cast_like(up_, x).t(), 1, scale).view(y.sizes());
}

torch::Tensor Linear::product(const torch::Tensor& x, const torch::Tensor& bias, bool leave_out) const {
    if (context_.deferred != nullptr || leave_out || weight_.scalar_type() != x.scalar_type()) {
        const torch::Tensor y = deferrable_linear(x, weight_, shape_.transposed, context_.deferred, leave_out);
        return bias.defined() ? sum_of(cast_like(bias, y), y) : y;
    }
    if (!shape_.transposed) return at::linear(x, weight_, bias);
    if (!bias.defined()) return at::matmul(x, weight_);
    auto sizes = x.sizes().vec();
    sizes.back() = weight_.size(1);
    return at::addmm(bias, x.reshape({-1, x.size(-1)}), weight_).view(sizes);
}

torch::Tensor Linear::forward(const torch::Tensor& x, bool leave_out) const {
    if (shape_.split != MatrixSplit::Rows || context_.tp() == 1) return adapted(x, product(x, bias_, leave_out));
    const torch::Tensor part = adapted(x, product(x, {}, leave_out));
    if (!shape_.sum_in_forward) return part;
    const torch::Tensor y = leave_tensor_parallel(part, context_);
    return bias_.defined() ? sum_of(cast_like(bias_, y), y) : y;
}

Embedding::Embedding(std::int64_t rows, std::int64_t width, bool split, const ModelContext& context)
    : split_(split && context.tp() > 1), context_(context) {
    Shard shard = split_ ? shard_along({rows, width}, 0, context.tp_rank(), context.tp())
                         : replicated({rows, width}, context.tp());
    if (!split_ && context.sequence_parallel()) shard.gradient = Shard::Gradient::PartOverTensor;
    weight_ = register_sharded("weight", std::move(shard), context.parameters);
}

torch::Tensor Embedding::forward(const torch::Tensor& indices) const {
    const torch::ScalarType dtype = activation_dtype(*context_.plan, weight_);
    if (!split_) return at::embedding(weight_, indices).to(dtype);
    const std::int64_t rows = weight_.size(0);
    const std::int64_t begin = shards().at("weight").ranges.front().first;
    const torch::Tensor local = indices - begin;
    const torch::Tensor elsewhere = at::logical_or(local.lt(0), local.ge(rows));
    const torch::Tensor found = at::embedding(weight_, local.masked_fill(elsewhere, 0)).to(dtype);
    return leave_tensor_parallel(found.masked_fill(elsewhere.unsqueeze(-1), 0), context_);
}

RmsNorm::RmsNorm(std::int64_t width, double eps, const ModelContext& context, bool per_head)
    : weight_(register_sharded("weight", norm_shard(width, context, per_head), context.parameters)), eps_(eps) {}

torch::Tensor RmsNorm::forward(const torch::Tensor& x) const { return RmsNormFunction::apply(x, weight_, eps_); }

LayerNorm::LayerNorm(std::int64_t width, double eps, const ModelContext& context)
    : weight_(register_sharded("weight", norm_shard(width, context), context.parameters)),
      bias_(register_sharded("bias", norm_shard(width, context), context.parameters)),
      eps_(eps) {}

torch::Tensor LayerNorm::forward(const torch::Tensor& x) const {
    return at::layer_norm(x, {x.size(-1)}, cast_like(weight_, x), cast_like(bias_, x), eps_);
}

Rotary::Table Rotary::table(const torch::Tensor& positions, const torch::Tensor& like) const {
    // In fp32 throughout, as in transformers: checkpoints of both give the same logits.
    const auto options = torch::TensorOptions().dtype(torch::kFloat).device(like.device());
    const torch::Tensor exponent = at::arange(0, head_size_, 2, options) / static_cast<double>(head_size_);
    const torch::Tensor frequency = at::pow(theta_, exponent).reciprocal();
    const torch::Tensor angle = at::outer(positions.to(options), frequency).unsqueeze(1);
    return {angle.cos().to(like.scalar_type()), angle.sin().to(like.scalar_type())};
}

torch::Tensor Rotary::turn(const torch::Tensor& x, const Table& table) {
    return RotaryFunction::apply(x, table.cos, table.sin);
}

}  // namespace plimsoll::engine
