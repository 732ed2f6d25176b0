// SPDX-License-Identifier: Apache-2.0
// The learning rate in torchtitan's config.
#include "core/control/lr_schedule.h"
#include "core/interop/exports/torchtitan_parts.h"

namespace plimsoll::exports::torchtitan {

Json learning_rate_block(const Plan& plan, Notes& notes) {
    const LrSchedule& lr = plan.lr;
    const std::int64_t steps = plan.training.steps;
    Json json{{"warmup_steps", warmup_updates(lr, steps)}, {"decay_type", "cosine"}, {"min_lr_factor", lr.min_ratio}};
    bool alike = !lr.tail && lr.warmup_shape == LrShape::Linear;
    switch (lr.kind) {
        case LrKind::Constant:
        case LrKind::TransformersConstant:
            json["decay_ratio"] = 0.0;
            json["decay_type"] = "linear";
            break;
        case LrKind::Linear:
        case LrKind::TransformersLinear:
            json["decay_type"] = "linear";
            break;
        case LrKind::Cosine:
        case LrKind::TransformersCosine:
        case LrKind::TransformersCosineMinLr:
            break;
        case LrKind::Wsd:
        case LrKind::TransformersWsd:
            json["decay_ratio"] = static_cast<double>(decay_updates(lr, steps)) / static_cast<double>(steps);
            json["decay_type"] = lr.decay_shape == LrShape::Cosine         ? "cosine"
                                 : lr.decay_shape == LrShape::OneMinusSqrt ? "sqrt"
                                                                           : "linear";
            break;
        default:
            alike = false;
    }
    if (!alike) {
        notes.push_back(fmt::format("torchtitan has no schedule like lr.kind {}: {} is the nearest.", name_of(lr.kind),
                                    json["decay_type"].get<std::string>()));
    }
    return json;
}

}  // namespace plimsoll::exports::torchtitan
