// SPDX-License-Identifier: Apache-2.0
#include "core/run/continued_run.h"

#include "core/base/result.h"
#include "core/control/lr_extension.h"

namespace plimsoll {

Plan with_more_steps(const Plan& recorded, std::int64_t steps, LrExtension how) {
    Plan plan = recorded;
    plan.training.steps = steps;
    if (steps > recorded.training.steps) plan.lr = extended(recorded.lr, recorded.training.steps, how);
    return plan;
}

Plan forked_plan(const Plan& recorded, const ListedCheckpoint& checkpoint) {
    Plan plan = recorded;
    (checkpoint.adapter ? plan.adapter.weights : plan.model.weights) = checkpoint.path.string();
    const std::string name = recorded.name.empty() ? recorded.model.name : recorded.name;
    plan.name = fmt::format("{}, from step {}", name, checkpoint.step);
    return plan;
}

}  // namespace plimsoll
