// SPDX-License-Identifier: Apache-2.0
// A group of ranks that an autograd function keeps from its forward to its backward.
#pragma once

#include <torch/torch.h>

#include "core/engine/ranks/collectives.h"

namespace plimsoll::engine {

struct HeldGroup : torch::CustomClassHolder {
    explicit HeldGroup(Collectives& its_ranks) : ranks(&its_ranks) {}
    Collectives* ranks;
};
using HeldGroupPointer = c10::intrusive_ptr<HeldGroup>;

inline HeldGroupPointer held(Collectives& ranks) { return c10::make_intrusive<HeldGroup>(ranks); }

inline void keep(torch::autograd::AutogradContext* ctx, const HeldGroupPointer& group) {
    ctx->saved_data["group"] = torch::IValue::make_capsule(group);
}

/// The ranks given to keep().
inline Collectives& kept_ranks(torch::autograd::AutogradContext* ctx) {
    return *static_cast<const HeldGroup&>(*ctx->saved_data["group"].toCapsule()).ranks;
}

}  // namespace plimsoll::engine
