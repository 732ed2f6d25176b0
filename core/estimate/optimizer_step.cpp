// SPDX-License-Identifier: Apache-2.0
#include "core/estimate/optimizer_step.h"

#include <fmt/format.h>

#include <algorithm>

namespace plimsoll {
namespace {

struct PerNumber {
    std::int64_t all = 0;  ///< bytes a parameter
    std::int64_t one = 0;  ///< bytes a number of the largest tensor
};

PerNumber per_number(const Optimizer& optimizer, StepLoop loop, bool repeated) {
    const std::int64_t a_tensor_at_a_time = repeated ? 12 : 8;
    switch (optimizer.kind) {
        case OptimizerKind::AdamW:
            if (loop == StepLoop::Foreach) return {4, 0};
            if (loop == StepLoop::Single) return {0, a_tensor_at_a_time};
            return {};
        case OptimizerKind::Sgd:
            if (loop == StepLoop::Fused || optimizer.weight_decay == 0) return {};
            return loop == StepLoop::Foreach ? PerNumber{4, 0} : PerNumber{0, 4};
        case OptimizerKind::Adafactor:
            return {0, a_tensor_at_a_time};
        case OptimizerKind::AdamW8bit:
        case OptimizerKind::Lamb:
            return {};
    }
    return {};
}

}  // namespace

std::optional<StepLoop> find_step_loop(std::string_view name) {
    const auto found = std::find(step_loop_names.begin(), step_loop_names.end(), name);
    if (found == step_loop_names.end()) return std::nullopt;
    return static_cast<StepLoop>(found - step_loop_names.begin());
}

Count step_temporaries(const Optimizer& optimizer, StepLoop loop, const SteppedTensors& tensors) {
    const auto bytes = per_number(optimizer, loop, tensors.repeated);
    return bytes.all * tensors.parameters + bytes.one * tensors.largest;
}

std::string step_temporaries_text(const Optimizer& optimizer, StepLoop loop, const SteppedTensors& tensors) {
    const auto bytes = per_number(optimizer, loop, tensors.repeated);
    if (bytes.all > 0) return fmt::format("{} B × {}", bytes.all, number(tensors.parameters));
    if (bytes.one > 0) return fmt::format("{} B × {}", bytes.one, number(tensors.largest));
    return "";
}

}  // namespace plimsoll
