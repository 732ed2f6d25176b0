// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/plan_numbers.h"

#include "ui/models/plan_field.h"

namespace plimsoll::ui {

namespace {

void computeTimeline(const Plan& plan, PlanNumbers& numbers) {
    const auto stages = static_cast<int>(plan.layout.pp);
    const std::int64_t microBatches = plan.layout.accumulation;
    if (microBatches > max_schedule_ops) return;
    numbers.closedForm = closed_form_bubble(stages, static_cast<int>(microBatches));
    numbers.bubble = numbers.closedForm;
    if (2 * plan.layout.pp * microBatches > mostDrawnOps) return;
    const Result<PipelineSchedule> schedule =
        make_schedule(plan.layout.schedule, stages, static_cast<int>(microBatches));
    if (!schedule) return;
    Result<Timeline> timeline = simulate(*schedule, relative_stage_times(plan));
    if (!timeline) return;
    numbers.timeline = *std::move(timeline);
    numbers.bubble = numbers.timeline->bubble;
}

}  // namespace

PlanNumbers computeNumbers(const Plan& plan) {
    PlanNumbers numbers;
    numbers.problems = check_plan(plan);
    numbers.counts = count_parameters(plan.model);
    if (!numbers.problems.empty()) {
        numbers.memoryProblem = inWords(numbers.problems.front().sentence);
        numbers.deepspeedProblem = numbers.memoryProblem;
        return numbers;
    }
    if (Result<MemoryEstimate> memory = estimate_memory(plan))
        numbers.memory = *std::move(memory);
    else
        numbers.memoryProblem = inWords(memory.error().message);
    computeTimeline(plan, numbers);
    if (Result<DeepSpeedExport> exported = export_deepspeed(plan))
        numbers.deepspeed = *std::move(exported);
    else
        numbers.deepspeedProblem = inWords(exported.error().message);
    return numbers;
}

}  // namespace plimsoll::ui
