// SPDX-License-Identifier: Apache-2.0
#include "core/engine/optimizer/optimizer.h"

#include <fmt/ranges.h>

#include <unordered_map>

#include "core/engine/memory/host_values.h"
#include "core/engine/memory/memory_scope.h"
#include "core/engine/optimizer/optimizer_kinds.h"
#include "core/engine/optimizer/stochastic_rounding.h"

namespace plimsoll::engine {

namespace {

std::string shape_text(const torch::Tensor& tensor) {
    return fmt::format("{} [{}]", c10::toString(tensor.scalar_type()), fmt::join(tensor.sizes(), ", "));
}

}  // namespace

bool is_half(const torch::Tensor& tensor) {
    return tensor.scalar_type() == torch::kBFloat16 || tensor.scalar_type() == torch::kHalf;
}

torch::Tensor ScaledGradient::operator()(const torch::Tensor& gradient, std::int64_t begin, std::int64_t length,
                                         const torch::TensorOptions& wide) {
    torch::Tensor piece = gradient.narrow(0, begin, length);
    const bool alike = piece.dtype() == wide.dtype() && piece.device() == wide.device();
    if (factor_ == 1 && alike) return piece;
    if (!scratch_.defined() || scratch_.dtype() != wide.dtype() || scratch_.device() != wide.device() ||
        scratch_.numel() < length) {
        scratch_ = at::empty({std::max(optimizer_chunk, length)}, wide);
    }
    torch::Tensor scaled = scratch_.narrow(0, 0, length);
    scaled.copy_(piece);
    if (factor_ != 1) scaled.mul_(factor_);
    return scaled;
}

torch::Tensor squared_norm(const torch::Tensor& x) {
    return at::linalg_vector_norm(x, 2, c10::nullopt, /*keepdim=*/false, torch::kDouble).square_();
}

ShardedOptimizer::ShardedOptimizer(std::vector<OptimizedPart> parts, const Optimizer& settings, PartSums* sums,
                                   std::unique_ptr<StateStore> store, const WeightUpdates& updates)
    : parts_(std::move(parts)), store_(std::move(store)), settings_(settings), sums_(sums), updates_(updates) {
    const torch::NoGradGuard no_grad;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        const torch::Tensor parameter = parts_[i].parameter.detach();
        const bool to_host = takes_states() && !on_cpu(parameter), pure = is_pure(i);
        const bool compensated = pure && updates_.rounding == Rounding::Kahan;
        compensation_.push_back(compensated ? keep(i, at::zeros_like(parameter)) : torch::Tensor());
        if (pure || (!to_host && !is_half(parameter))) {
            masters_.push_back(parameter);
            continue;
        }
        auto options = torch::TensorOptions().dtype(torch::kFloat).device(parameter.device());
        // Pinned, so that the updated numbers travel back during computation.
        if (to_host && !parameter.is_meta()) options = options.device(torch::kCPU).pinned_memory(true);
        const torch::Tensor copy = at::empty(parameter.sizes(), options);
        {
            const auto held = hold(i);
            if (held) copy.copy_(parameter);
            if (!held && kept_) kept_ = tl::unexpected(held.error());
        }
        masters_.push_back(keep(i, copy));
    }
}

torch::Tensor ShardedOptimizer::keep(std::size_t index, torch::Tensor state) {
    if (takes_states() && kept_) kept_ = store_->add(index, state);
    return state;
}

Result<void> ShardedOptimizer::step(const std::vector<torch::Tensor>& gradients, double lr, double inv_scale,
                                    double clip_factor) {
    const torch::NoGradGuard no_grad;
    ++steps_;
    auto updated = update(gradients, lr, inv_scale * clip_factor);
    widened_.reset();
    return updated;
}

Moment ShardedOptimizer::kept_moment(std::size_t index, MomentFormat format) {
    Moment moment(parts_[index].parameter.numel(), wide_options(index), format);
    for (const torch::Tensor& tensor : moment.tensors()) keep(index, tensor);
    return moment;
}

void ShardedOptimizer::add_moment(const char* kind, std::size_t index, const Moment& moment,
                                  std::vector<OptimizerState>& all) const {
    const OptimizedPart& part = parts_[index];
    all.push_back({fmt::format("{}/{}", kind, part.name), moment.all().view(part.parameter.sizes()), index});
}

bool ShardedOptimizer::is_pure(std::size_t index) const {
    return !updates_.masters && is_half(parts_[index].parameter);
}

torch::TensorOptions ShardedOptimizer::wide_options(std::size_t index) const {
    const torch::TensorOptions options = masters_[index].options();
    return is_pure(index) ? options.dtype(torch::kFloat) : options;
}

torch::Tensor ShardedOptimizer::weights(std::size_t index, std::int64_t begin, std::int64_t length) {
    const torch::Tensor numbers = masters_[index].view(-1).narrow(0, begin, length);
    if (!is_pure(index)) return numbers;
    if (!widened_.defined() || widened_.numel() < length) {
        widened_ = at::empty({std::max(optimizer_chunk, length)}, wide_options(index));
    }
    torch::Tensor wide = widened_.narrow(0, 0, length);
    wide.copy_(numbers);
    return wide;
}

void ShardedOptimizer::set_weights(std::size_t index, std::int64_t begin, torch::Tensor updated) {
    const OptimizedPart& part = parts_[index];
    if (!is_pure(index) && !is_copy(index)) return;
    const std::int64_t length = updated.numel();
    torch::Tensor stored = part.parameter.detach().view(-1).narrow(0, begin, length);
    if (!is_pure(index)) {
        // The next update's first gradient waits for the device, so the masters do not change before this copy has
        // ended.
        stored.copy_(updated, /*non_blocking=*/true);
        return;
    }
    switch (updates_.rounding) {
        case Rounding::Nearest:
            stored.copy_(updated);
            return;
        case Rounding::Stochastic:
            round_stochastically(
                stored, updated,
                {RoundingBits::key_of(updates_.seed, part.name, steps_), part.shard, part.begin + begin});
            return;
        case Rounding::Kahan:
            add_compensated(stored, std::move(updated), compensation_[index].view(-1).narrow(0, begin, length));
            return;
    }
}

void ShardedOptimizer::add_compensated(torch::Tensor stored, torch::Tensor updated, torch::Tensor compensation) const {
    torch::Tensor before = stored.clone(), wide = stored.to(torch::kFloat);
    updated.sub_(wide);  // the update
    compensation.copy_(wide.copy_(compensation).add_(updated));
    stored.add_(compensation);
    compensation.add_(before.sub_(stored));
}

Result<void> ShardedOptimizer::sum(PartSums::Over over,
                                   const std::vector<std::pair<std::size_t, torch::Tensor>>& values) {
    if (sums_ == nullptr || values.empty()) return {};
    const torch::Device device = parts_.front().parameter.device();
    if (values.front().second.device() == device) return sums_->sum(over, values);
    std::vector<std::pair<std::size_t, torch::Tensor>> there;
    for (const auto& [index, tensor] : values) there.emplace_back(index, tensor.to(device));
    auto summed = sums_->sum(over, there);
    for (std::size_t k = 0; k < values.size(); ++k) values[k].second.copy_(there[k].second);
    return summed;
}

std::vector<OptimizerState> ShardedOptimizer::states_of(std::size_t index) const {
    std::vector<OptimizerState> states;
    const OptimizedPart& part = parts_[index];
    if (is_half(part.parameter) && updates_.masters) states.push_back({"master/" + part.name, masters_[index], index});
    const torch::Tensor& lost = compensation_[index];
    if (lost.defined()) states.push_back({"compensation/" + part.name, lost, index});
    add_states(index, states);
    return states;
}

std::vector<OptimizerState> ShardedOptimizer::state() const {
    const torch::NoGradGuard no_grad;
    std::vector<OptimizerState> states;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        const auto held = hold(i);
        if (!held) throw std::runtime_error(held.error().message);
        for (OptimizerState& state : states_of(i)) {
            if (takes_states()) state.tensor = state.tensor.clone();
            states.push_back(std::move(state));
        }
    }
    return states;
}

Result<void> ShardedOptimizer::load_state(const std::vector<std::pair<std::string, torch::Tensor>>& state,
                                          std::int64_t steps) {
    if (steps < 0) return bad_input("the optimizer state counts {} steps; a number from 0 is needed", steps);
    const torch::NoGradGuard no_grad;
    std::unordered_map<std::string_view, const torch::Tensor*> found;
    for (const auto& [name, tensor] : state) found[name] = &tensor;

    const std::vector<OptimizerState> own = this->state();
    for (const auto& [name, tensor, part, shape] : own) {
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
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        PLIMSOLL_TRY(const auto held, hold(i));
        for (const OptimizerState& each : states_of(i)) restore(each, *found[each.name]);
        if (is_copy(i) && !is_half(parts_[i].parameter)) masters_[i].copy_(parts_[i].parameter);
    }
    steps_ = steps;
    return {};
}

Result<std::unique_ptr<ShardedOptimizer>> make_optimizer(std::vector<OptimizedPart> parts, const Optimizer& settings,
                                                         PartSums* sums, std::unique_ptr<StateStore> store,
                                                         const WeightUpdates& updates) {
    for (const OptimizedPart& part : parts) {
        if (!part.parameter.is_contiguous()) return failed("the optimizer's part of {} is not contiguous", part.name);
        if (!updates.masters && part.parameter.scalar_type() == torch::kHalf) {
            return failed("{} is in fp16, and weights without masters have to be in bf16", part.name);
        }
    }
    auto made = [&] {
        switch (settings.kind) {
            case OptimizerKind::Lamb:
                return make_lamb(std::move(parts), settings, sums, std::move(store), updates);
            case OptimizerKind::Sgd:
                return make_sgd(std::move(parts), settings, std::move(store), updates);
            case OptimizerKind::Adafactor:
                return make_adafactor(std::move(parts), settings, sums, std::move(store), updates);
            case OptimizerKind::AdamW:
            case OptimizerKind::AdamW8bit:
                break;
        }
        return make_adamw(std::move(parts), settings, std::move(store), updates);
    }();
    if (!made->kept_) return tl::unexpected(made->kept_.error());
    return made;
}

}  // namespace plimsoll::engine
