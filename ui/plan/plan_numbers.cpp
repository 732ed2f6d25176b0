// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plan/plan_numbers.h"

#include "core/frameworks/estimate_under.h"
#include "core/plan/checks/check_plan.h"
#include "core/schedule/stage_times.h"
#include "ui/common/plan_field.h"

namespace plimsoll::ui {

namespace {

void computePipeline(const Plan& plan, PlanNumbers& numbers) {
    const double ops = 3.0 * static_cast<double>(plan.layout.pp) * static_cast<double>(plan.layout.accumulation) *
                       static_cast<double>(chunks_per_rank(plan));
    if (ops > mostDrawnOps) return;
    if (Result<Pipeline> pipeline = simulate_pipeline(plan))
        numbers.pipeline = std::make_shared<const Pipeline>(*std::move(pipeline));
    else
        numbers.pipelineProblem = inWords(pipeline.error().message);
}

void computeMemory(const Plan& plan, Framework framework, PlanNumbers& numbers) {
    Result<MemoryEstimate> memory = estimate_under(framework, plan);
    numbers.framework = framework;
    if (!memory && framework != Framework::Plimsoll) {
        numbers.frameworkProblem = inWords(memory.error().message);
        numbers.framework = Framework::Plimsoll;
        memory = estimate_memory(plan);
    }
    if (memory)
        numbers.memory = *std::move(memory);
    else
        numbers.memoryProblem = inWords(memory.error().message);
}

void computeStep(const Plan& plan, PlanNumbers& numbers) {
    const Result<Hardware> hardware = hardware_of(plan.cluster, plan.numerics.dtype);
    Result<StepReport> step = hardware ? step_time(plan, *hardware) : tl::unexpected(hardware.error());
    if (step)
        numbers.step = *std::move(step);
    else
        numbers.stepProblem = inWords(step.error().message);
}

}  // namespace

PlanNumbers computeNumbers(const Plan& plan, Framework framework) {
    PlanNumbers numbers;
    numbers.problems = check_plan(plan);
    numbers.counts = count_parameters(plan.model);
    if (!numbers.problems.empty()) {
        numbers.memoryProblem = inWords(numbers.problems.front().sentence);
        return numbers;
    }
    computeMemory(plan, framework, numbers);
    computePipeline(plan, numbers);
    computeStep(plan, numbers);
    return numbers;
}

}  // namespace plimsoll::ui
