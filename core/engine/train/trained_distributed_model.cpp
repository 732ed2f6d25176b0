// SPDX-License-Identifier: Apache-2.0
#include "core/engine/train/trained_distributed_model.h"

#include "core/engine/weights/hf_weights.h"
#include "core/engine/weights/peft_weights.h"
#include "core/plan/adapter.h"

namespace plimsoll::engine {

Result<void> TrainedDistributedModel::place() {
    PLIMSOLL_CHECK(model_.broadcast_parameters());
    if (!adapts(plan_) || plan_.model.weights.empty()) return {};
    PLIMSOLL_TRY(const auto weights, read_hf_weights(plan_.model.weights, plan_));
    return model_.weights().load_frozen(weights, plan_.model.weights);
}

Result<void> TrainedDistributedModel::begin() {
    const std::string& from = adapts(plan_) ? plan_.adapter.weights : plan_.model.weights;
    if (!from.empty()) {
        PLIMSOLL_TRY(const auto weights, adapts(plan_) ? read_peft_weights(from, plan_) : read_hf_weights(from, plan_));
        PLIMSOLL_CHECK(model_.weights().load(weights, from));
    }
    return model_.make_optimizer(plan_.optimizer);
}

Result<TrainedState> TrainedDistributedModel::state() {
    TrainedState state;
    state.optimizer_steps = model_.optimizer_steps();
    PLIMSOLL_TRY(state.weights, model_.weights().whole());
    PLIMSOLL_TRY(state.optimizer, model_.whole_optimizer_state());
    return state;
}

Result<void> TrainedDistributedModel::load(const TrainedState& state, const std::string& weights_file) {
    PLIMSOLL_CHECK(model_.weights().load(state.weights, weights_file));
    PLIMSOLL_CHECK(model_.make_optimizer(plan_.optimizer));
    return model_.load_optimizer_state(state.optimizer, state.optimizer_steps);
}

}  // namespace plimsoll::engine
