// SPDX-License-Identifier: Apache-2.0
#include "core/engine/parallel/zero_gate.h"

namespace plimsoll::engine {

namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::tensor_list;

struct Held : torch::CustomClassHolder {
    ZeroGate* gate = nullptr;
    std::size_t unit = 0;
};

c10::intrusive_ptr<Held> held(ZeroGate* gate, std::size_t unit) {
    auto held = c10::make_intrusive<Held>();
    held->gate = gate;
    held->unit = unit;
    return held;
}

struct ReleaseInBackward : Function<ReleaseInBackward> {
    static Tensor forward(AutogradContext* ctx, const Tensor& x, const c10::intrusive_ptr<Held>& unit) {
        ctx->saved_data["unit"] = torch::IValue::make_capsule(unit);
        return x.view_as(x);
    }
    static tensor_list backward(AutogradContext* ctx, const tensor_list& gradients) {
        const auto capsule = ctx->saved_data["unit"].toCapsule();
        const auto& unit = static_cast<const Held&>(*capsule);
        unit.gate->release(unit.unit);
        return {gradients[0], {}};
    }
};

struct GatherInBackward : Function<GatherInBackward> {
    static Tensor forward(AutogradContext* ctx, const Tensor& x, const c10::intrusive_ptr<Held>& unit) {
        ctx->saved_data["unit"] = torch::IValue::make_capsule(unit);
        return x.view_as(x);
    }
    static tensor_list backward(AutogradContext* ctx, const tensor_list& gradients) {
        const auto capsule = ctx->saved_data["unit"].toCapsule();
        const auto& unit = static_cast<const Held&>(*capsule);
        unit.gate->gather(unit.unit);
        if (unit.unit > 0) unit.gate->prefetch(unit.unit - 1);
        return {gradients[0], {}};
    }
};

}  // namespace

ZeroGate::ZeroGate(std::vector<GatherAndRelease*> groups, std::size_t first_unit, std::size_t units,
                   bool embedding_in_head)
    : groups_(std::move(groups)), first_unit_(first_unit), units_(units), embedding_in_head_(embedding_in_head) {}

std::vector<std::size_t> ZeroGate::units_behind(std::size_t unit) const {
    std::vector<std::size_t> units{first_unit_ + unit};
    if (embedding_in_head_ && unit + 1 == units_) units.push_back(first_unit_);
    return units;
}

void ZeroGate::gather(std::size_t unit) {
    for (const std::size_t each : units_behind(unit)) {
        for (GatherAndRelease* group : groups_) group->gather(each);
    }
}

void ZeroGate::release(std::size_t unit) {
    for (const std::size_t each : units_behind(unit)) {
        for (GatherAndRelease* group : groups_) group->release(each);
    }
}

void ZeroGate::prefetch(std::size_t unit) {
    // The embedding's backward needs no weight.
    if (unit == 0 && torch::GradMode::is_enabled() == false) return;
    for (GatherAndRelease* group : groups_) group->start(first_unit_ + unit);
}

Tensor ZeroGate::enter(std::size_t unit, const Tensor& x) {
    gather(unit);
    if (unit + 1 < units_) {
        for (GatherAndRelease* group : groups_) group->start(first_unit_ + unit + 1);
    }
    if (!torch::GradMode::is_enabled() || !x.requires_grad()) return x;
    return ReleaseInBackward::apply(x, held(this, unit));
}

Tensor ZeroGate::leave(std::size_t unit, const Tensor& x) {
    release(unit);
    if (unit == 0 || !torch::GradMode::is_enabled() || !x.requires_grad()) return x;
    return GatherInBackward::apply(x, held(this, unit));
}

}  // namespace plimsoll::engine
