// SPDX-License-Identifier: Apache-2.0
#include "core/engine/layers/dropout.h"

#include "core/engine/base/mixed_bits.h"
#include "core/engine/layers/unread_result.h"
#include "core/engine/memory/host_values.h"

namespace plimsoll::engine {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::tensor_list;

std::uint64_t stream(const DropoutKey& key, std::size_t row, DropoutSite site, std::int64_t head) {
    std::uint64_t hash = mixed_bits(key.seed + 0x9e3779b97f4a7c15U);
    for (const std::uint64_t part : {(*key.samples)[row], static_cast<std::uint64_t>(key.layer),
                                     static_cast<std::uint64_t>(site), static_cast<std::uint64_t>(head)}) {
        hash = mixed_bits(hash ^ (part + 0x9e3779b97f4a7c15U));
    }
    return hash;
}

void fill(torch::Tensor mask, at::Generator& generator, std::uint64_t seed, double p) {
    generator.set_current_seed(seed);
    mask.bernoulli_(1 - p, generator);
}

/// On the CPU a mask in the dtype is one multiplication; elsewhere a byte saves memory.
torch::TensorOptions mask_options(const torch::Tensor& x) {
    return on_cpu(x) ? x.options().requires_grad(false) : x.options().dtype(torch::kBool).requires_grad(false);
}

torch::Tensor times_mask(const torch::Tensor& x, const torch::Tensor& mask, double p) {
    return mask.scalar_type() == torch::kBool ? x * mask * (1 / (1 - p)) : x * mask;
}

struct DropoutFunction : Function<DropoutFunction> {
    static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& x, const torch::Tensor& mask, double p) {
        ctx->save_for_backward({mask});
        ctx->saved_data["p"] = p;
        return is_left_out(x) ? x.view_as(x) : times_mask(x, mask, p);
    }
    static tensor_list backward(AutogradContext* ctx, const tensor_list& gradients) {
        return {times_mask(gradients[0], ctx->get_saved_variables()[0], ctx->saved_data["p"].toDouble()), {}, {}};
    }
};

torch::Tensor apply(const torch::Tensor& x, torch::Tensor mask, double p) {
    if (mask.scalar_type() != torch::kBool) mask.div_(1 - p);
    return DropoutFunction::apply(x, mask, p);
}

}  // namespace

DropoutKey DropoutKey::drawn(std::int64_t sequences) {
    DropoutKey key;
    key.seed = static_cast<std::uint64_t>(at::randint(std::int64_t{1} << 62, {1}, torch::kInt64).item<std::int64_t>());
    std::vector<std::uint64_t> samples;
    for (std::int64_t i = 0; i < sequences; ++i) samples.push_back(static_cast<std::uint64_t>(i));
    key.samples = std::make_shared<const std::vector<std::uint64_t>>(std::move(samples));
    return key;
}

torch::Tensor dropout(const torch::Tensor& x, double p, const DropoutKey& key, DropoutSite site,
                      const torch::Tensor& positions, std::int64_t whole) {
    if (p <= 0) return x;
    torch::Tensor mask = at::empty(x.sizes(), mask_options(x));
    if (!x.is_meta()) {
        at::Generator generator = at::globalContext().defaultGenerator(x.device()).clone();
        const bool part = positions.defined();
        torch::Tensor row = part ? at::empty({whole, x.size(2)}, mask_options(x)) : torch::Tensor();
        for (std::int64_t b = 0; b < x.size(0); ++b) {
            const std::uint64_t seed = stream(key, static_cast<std::size_t>(b), site, 0);
            fill(part ? row : mask[b], generator, seed, p);
            if (part) mask[b].copy_(row.index_select(0, positions));
        }
    }
    return apply(x, mask, p);
}

torch::Tensor attention_mask(const torch::Tensor& like, std::int64_t heads, const torch::Tensor& positions,
                             std::int64_t whole, double p, const DropoutKey& key, std::int64_t first_head) {
    const std::int64_t batch = like.size(0);
    torch::Tensor mask =
        at::empty({batch, heads, positions.size(0), whole}, like.options().dtype(torch::kBool).requires_grad(false));
    if (like.is_meta()) return mask;
    at::Generator generator = at::globalContext().defaultGenerator(like.device()).clone();
    const torch::Tensor rows = positions.to(like.device());
    const torch::Tensor square = at::empty({whole, whole}, mask_options(like));
    for (std::int64_t b = 0; b < batch; ++b) {
        for (std::int64_t h = 0; h < heads; ++h) {
            fill(square, generator, stream(key, static_cast<std::size_t>(b), DropoutSite::Attention, first_head + h),
                 p);
            mask[b][h].copy_(square.index_select(0, rows));
        }
    }
    return mask;
}

torch::Tensor attention_dropout(const torch::Tensor& x, double p, const DropoutKey& key, std::int64_t first_head) {
    if (p <= 0) return x;
    torch::Tensor mask = at::empty(x.sizes(), mask_options(x));
    if (!x.is_meta()) {
        at::Generator generator = at::globalContext().defaultGenerator(x.device()).clone();
        for (std::int64_t b = 0; b < x.size(0); ++b) {
            for (std::int64_t h = 0; h < x.size(1); ++h) {
                fill(mask[b][h], generator,
                     stream(key, static_cast<std::size_t>(b), DropoutSite::Attention, first_head + h), p);
            }
        }
    }
    return apply(x, mask, p);
}

}  // namespace plimsoll::engine
