// SPDX-License-Identifier: Apache-2.0
#include "core/engine/train/trained_distributed_model.h"

#include "core/engine/weights/hf_weights.h"
#include "core/engine/weights/peft_weights.h"
#include "core/plan/adapter.h"

namespace plimsoll::engine {

Result<void> TrainedDistributedModel::place() {
    if (auto sent = model_.broadcast_parameters(); !sent) return sent;
    if (!adapts(plan_) || plan_.model.weights.empty()) return {};
    const auto weights = read_hf_weights(plan_.model.weights, plan_);
    if (!weights) return tl::unexpected(weights.error());
    return model_.weights().load_frozen(*weights, plan_.model.weights);
}

Result<void> TrainedDistributedModel::begin() {
    const std::string& from = adapts(plan_) ? plan_.adapter.weights : plan_.model.weights;
    if (!from.empty()) {
        const auto weights = adapts(plan_) ? read_peft_weights(from, plan_) : read_hf_weights(from, plan_);
        if (!weights) return tl::unexpected(weights.error());
        if (auto loaded = model_.weights().load(*weights, from); !loaded) return loaded;
    }
    return model_.make_optimizer(plan_.optimizer);
}

Result<TrainedState> TrainedDistributedModel::state() {
    TrainedState state;
    state.optimizer_steps = model_.optimizer_steps();
    auto weights = model_.weights().whole();
    if (!weights) return tl::unexpected(weights.error());
    state.weights = std::move(*weights);
    auto optimizer = model_.whole_optimizer_state();
    if (!optimizer) return tl::unexpected(optimizer.error());
    state.optimizer = std::move(*optimizer);
    return state;
}

Result<void> TrainedDistributedModel::load(const TrainedState& state, const std::string& weights_file) {
    if (auto loaded = model_.weights().load(state.weights, weights_file); !loaded) return loaded;
    if (auto made = model_.make_optimizer(plan_.optimizer); !made) return made;
    return model_.load_optimizer_state(state.optimizer, state.optimizer_steps);
}

}  // namespace plimsoll::engine
