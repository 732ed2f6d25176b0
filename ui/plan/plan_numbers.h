// SPDX-License-Identifier: GPL-3.0-or-later
// Everything that is computed from a plan, at once: a few milliseconds at most.
#pragma once

#include <memory>
#include <optional>
#include <QString>
#include <vector>

#include "core/estimate/estimate.h"
#include "core/frameworks/framework.h"
#include "core/plan/checks/check_plan.h"
#include "core/plan/parameters.h"
#include "core/plan/plan.h"
#include "core/plan/plan_io.h"
#include "core/schedule/plan_pipeline/plan_pipeline.h"
#include "core/step_time/step_time.h"

namespace plimsoll::ui {

struct PlanNumbers {
    std::vector<Problem> problems;  ///< of check_plan
    ParameterCounts counts;

    Framework framework = Framework::Plimsoll;  ///< whose memory this is
    QString frameworkProblem;                   ///< why the one that was asked for cannot do it; then it is Plimsoll's
    std::optional<MemoryEstimate> memory;
    QString memoryProblem;  ///< why there is no estimate

    std::shared_ptr<const Pipeline> pipeline;  ///< nothing if there are too many operations to simulate with each edit
    QString pipelineProblem;                   ///< why there is none

    std::optional<StepReport> step;  ///< Plimsoll's, pipelines in closed form as the planner counts them
    QString stepProblem;             ///< why there is none

    bool possible() const { return problems.empty() && memory.has_value(); }
};

/// Operations up to which a timeline is simulated with each edit.
inline constexpr std::int64_t mostDrawnOps = 400'000;

PlanNumbers computeNumbers(const Plan& plan, Framework framework = Framework::Plimsoll);

}  // namespace plimsoll::ui
