// SPDX-License-Identifier: Apache-2.0
// What each framework does with the settings of a plan that change its memory.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/frameworks/framework.h"
#include "core/plan/plan.h"

namespace plimsoll {

/// What a framework does when a plan asks for a setting. Without a note its estimate counts the setting.
struct Answer {
    std::string_view note;             ///< why the estimate counts another thing, or under which condition it counts it
    void (*instead)(Plan&) = nullptr;  ///< what is counted in its place; null: the setting itself
};

/// A setting that some framework has no exact answer to.
struct MemorySetting {
    std::string_view key;        ///< "layout.loss_chunks"
    bool (*asked)(const Plan&);  ///< whether the plan asks for it
    Answer deepspeed, megatron, torchtitan, trainer;
    const Answer& under(Framework framework) const;
};

/// The one table of them, in the order in which they are applied. Settings that are not in it are counted by every
/// framework; a test walks all fields of a plan and fails where an estimate neither follows a field nor says so.
std::span<const MemorySetting> memory_settings();

/// A plan as a framework trains it, and a sentence for each setting that it does otherwise: "layout.schedule: …".
struct TrainedPlan {
    Plan plan;
    std::vector<std::string> notes;
};
TrainedPlan as_trained_by(Framework framework, const Plan& plan);

}  // namespace plimsoll
