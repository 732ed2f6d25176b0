// SPDX-License-Identifier: Apache-2.0
#include "core/engine/optimizer/fused_adamw.h"

#include "core/engine/memory/host_values.h"

namespace plimsoll::engine {

namespace {

/// fp32 numbers in the widest register.
constexpr std::int64_t lanes = 16;

void update(const AdamWNumbers& n, const torch::Tensor& step, const Optimizer& settings, double lr,
            double weight_decay) {
    at::_fused_adamw_({n.w}, {n.g}, {n.m}, {n.v}, {}, {step}, lr, settings.beta1, settings.beta2, weight_decay,
                      settings.eps, /*amsgrad=*/false, /*maximize=*/false);
}

}  // namespace

void fused_adamw(const AdamWNumbers& n, const torch::Tensor& step, const Optimizer& settings, double lr,
                 double weight_decay) {
    const std::int64_t count = n.w.numel(), rest = on_cpu(n.w) ? count % lanes : 0, whole = count - rest;
    if (whole > 0) {
        const auto head = [&](const torch::Tensor& x) { return x.narrow(0, 0, whole); };
        update({head(n.w), head(n.g), head(n.m), head(n.v)}, step, settings, lr, weight_decay);
    }
    if (rest == 0) return;
    // On CPUs the kernel handles numbers that fill no register one by one, with another rounding, so results would
    // depend on the number of ranks. Here such numbers are padded to a full register.
    const auto tail = [&](const torch::Tensor& x) { return x.narrow(0, whole, rest); };
    const auto padded = [&](const torch::Tensor& x) { return at::constant_pad_nd(tail(x), {0, lanes - rest}); };
    const AdamWNumbers last{padded(n.w), padded(n.g), padded(n.m), padded(n.v)};
    update(last, step, settings, lr, weight_decay);
    tail(n.w).copy_(last.w.narrow(0, 0, rest));
    tail(n.m).copy_(last.m.narrow(0, 0, rest));
    tail(n.v).copy_(last.v.narrow(0, 0, rest));
}

}  // namespace plimsoll::engine
