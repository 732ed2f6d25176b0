// SPDX-License-Identifier: Apache-2.0
#include "core/engine/adamw.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_map>

namespace plimsoll::engine {

namespace {

using NamedTensor = std::pair<std::string, torch::Tensor>;

/// Numbers updated at once: the scaled gradient of so many stays in cache, and the scratch space is 4 MiB.
constexpr std::int64_t chunk = 1 << 20;

bool is_half(const torch::Tensor& tensor) {
    return tensor.scalar_type() == torch::kBFloat16 || tensor.scalar_type() == torch::kHalf;
}

std::string shape_text(const torch::Tensor& tensor) {
    return fmt::format("{} [{}]", c10::toString(tensor.scalar_type()), fmt::join(tensor.sizes(), ", "));
}

}  // namespace

AdamW::AdamW(std::vector<NamedTensor> named_parameters, const Optimizer& settings) : settings_(settings) {
    const torch::NoGradGuard no_grad;
    for (auto& [name, parameter] : named_parameters) {
        Slot slot;
        slot.name = std::move(name);
        slot.parameter = parameter;
        slot.master = is_half(parameter) ? parameter.to(torch::kFloat) : parameter.detach();
        slot.exp_avg = at::zeros_like(slot.master);
        slot.exp_avg_sq = at::zeros_like(slot.master);
        slot.decay = parameter.dim() >= 2;
        slots_.push_back(std::move(slot));
    }
}

void AdamW::step(double lr, double inv_scale, double clip_factor) {
    const torch::NoGradGuard no_grad;
    ++steps_;
    const double factor = inv_scale * clip_factor;
    const torch::Tensor step = at::scalar_tensor(steps_, torch::kFloat);
    torch::Tensor scratch;
    for (const Slot& slot : slots_) {
        if (slot.parameter.grad().defined()) update(slot, lr, factor, step, scratch);
    }
}

void AdamW::update(const Slot& slot, double lr, double factor, const torch::Tensor& step,
                   torch::Tensor& scratch) const {
    const bool half = is_half(slot.parameter);
    const torch::Tensor gradient = slot.parameter.grad().reshape(-1);
    const torch::Tensor parameter = slot.parameter.detach().view(-1), master = slot.master.view(-1),
                        exp_avg = slot.exp_avg.view(-1), exp_avg_sq = slot.exp_avg_sq.view(-1);
    for (std::int64_t begin = 0; begin < gradient.numel(); begin += chunk) {
        const std::int64_t length = std::min(chunk, gradient.numel() - begin);
        const auto part = [&](const torch::Tensor& flat) { return flat.narrow(0, begin, length); };
        torch::Tensor g = part(gradient);
        if (half || factor != 1) {
            if (!scratch.defined() || scratch.scalar_type() != master.scalar_type()) {
                scratch = at::empty({chunk}, master.options());
            }
            torch::Tensor scaled = scratch.narrow(0, 0, length);
            scaled.copy_(g);
            if (factor != 1) scaled.mul_(factor);
            g = scaled;
        }
        at::_fused_adamw_({part(master)}, {g}, {part(exp_avg)}, {part(exp_avg_sq)}, {}, {step}, lr, settings_.beta1,
                          settings_.beta2, slot.decay ? settings_.weight_decay : 0, settings_.eps, /*amsgrad=*/false,
                          /*maximize=*/false);
        if (half) part(parameter).copy_(part(master));
    }
}

std::vector<NamedTensor> AdamW::state() const {
    std::vector<NamedTensor> state;
    for (const Slot& slot : slots_) {
        if (is_half(slot.parameter)) state.emplace_back("master/" + slot.name, slot.master);
        state.emplace_back("exp_avg/" + slot.name, slot.exp_avg);
        state.emplace_back("exp_avg_sq/" + slot.name, slot.exp_avg_sq);
    }
    return state;
}

Result<void> AdamW::load_state(const std::vector<NamedTensor>& state, std::int64_t steps) {
    if (steps < 0) return bad_input("the optimizer state counts {} steps; a number from 0 is needed", steps);
    const torch::NoGradGuard no_grad;
    std::unordered_map<std::string_view, const torch::Tensor*> found;
    for (const auto& [name, tensor] : state) found[name] = &tensor;

    const std::vector<NamedTensor> own = this->state();
    for (const auto& [name, tensor] : own) {
        const auto entry = found.find(name);
        if (entry == found.end()) return bad_input("the optimizer state lacks {}; it belongs to another model", name);
        const torch::Tensor& loaded = *entry->second;
        if (loaded.sizes() != tensor.sizes() || loaded.scalar_type() != tensor.scalar_type()) {
            return bad_input("{} of the optimizer state is {}, and this model needs {}; it belongs to another model",
                             name, shape_text(loaded), shape_text(tensor));
        }
    }
    if (found.size() != own.size() || state.size() != own.size()) {
        return bad_input("the optimizer state holds {} tensors, and this model has {}; it belongs to another model",
                         state.size(), own.size());
    }
    for (const auto& [name, tensor] : own) tensor.copy_(*found[name]);
    steps_ = steps;
    return {};
}

}  // namespace plimsoll::engine
