// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/run/run_starter.h"

#include <algorithm>

#include "core/plan/checks/check_plan.h"
#include "core/plan/trainable.h"
#include "core/run/continued_run.h"
#include "core/run/processes/detached.h"
#include "core/run/processes/start_checks.h"
#include "core/run/processes/supervisor.h"
#include "core/run/run_folder.h"
#include "core/run/run_store.h"
#include "ui/common/plan_field.h"

namespace plimsoll::ui {

namespace {

/// The same model and recipe, spread over at most two ranks of this machine as plain data parallel.
Plan onThisMachine(Plan plan) {
    plan.cluster.gpu = "cpu";
    plan.cluster.nodes = 1;
    plan.cluster.gpus_per_node = std::clamp<std::int64_t>(plan.cluster.gpus_per_node, 1, 2);
    plan.cluster.usable_gib = 0;
    Layout layout;
    layout.dp = plan.cluster.gpus_per_node;
    layout.micro_batch = plan.layout.micro_batch;
    layout.accumulation = plan.layout.accumulation;
    plan.layout = layout;
    return plan;
}

bool trainable(const Plan& plan) {
    const Result<MemoryEstimate> memory = estimate_memory(plan);
    return require_possible(plan) && require_trainable_here(plan) && memory && memory->fits();
}

Result<std::filesystem::path> findProgram() {
    const std::filesystem::path program = program_folder() / "plimsoll";
    std::error_code ignored;
    if (!std::filesystem::exists(program, ignored))
        return failed("{} is missing: build or install the whole of Plimsoll, then try again", program.string());
    return program;
}

Result<QString> resumeRun(const std::filesystem::path& path, std::int64_t steps, LrExtension how) {
    PLIMSOLL_TRY(const auto program, findProgram());
    PLIMSOLL_TRY(const RunFolder run, RunFolder::open(path));
    PLIMSOLL_TRY(const Plan recorded, run.plan());
    const Plan plan = steps > 0 ? with_more_steps(recorded, steps, how) : recorded;
    PLIMSOLL_CHECK(check_start(plan, path));
    PLIMSOLL_CHECK(find_worker());
    // The person has said how the learning rate goes on, so a jump is meant.
    PLIMSOLL_TRY(const RunFolder resumed, RunFolder::create(path, plan, true, {false, true}));
    PLIMSOLL_CHECK(start_detached(resumed, program));
    return QString::fromStdString(resumed.path().string());
}

Result<QString> startRun(const Plan& plan) {
    PLIMSOLL_TRY(const auto program, findProgram());
    PLIMSOLL_CHECK(check_start(plan, new_run_path(plan)));
    PLIMSOLL_CHECK(find_worker());
    PLIMSOLL_TRY(const RunFolder run, create_in_store(plan));
    PLIMSOLL_CHECK(start_detached(run, program));
    return QString::fromStdString(run.path().string());
}

}  // namespace

std::optional<Obstacle> obstacleOf(const PlanModel& model) {
    Obstacle obstacle;
    if (const QList<FieldProblem> problems = model.problems(); !problems.isEmpty()) {
        obstacle.key = problems.front().key;
        obstacle.sentence = problems.front().sentence;
        return obstacle;
    }
    const Plan& plan = model.plan();
    const Result<void> able = require_trainable_here(plan);
    if (able) return std::nullopt;
    obstacle.sentence = inWords(able.error().message);
    obstacle.key = firstKeyIn(able.error().message);
    Plan here = onThisMachine(plan);
    if (trainable(here)) {
        obstacle.cure = std::move(here);
        obstacle.cureName = RunStarter::tr("Plan it for this machine's CPU");
    }
    return obstacle;
}

void RunStarter::start(const PlanModel& model) {
    if (isStarting()) return;
    if (const std::optional<Obstacle> obstacle = obstacleOf(model)) {
        emit refused(*obstacle);
        return;
    }
    // Once begun the run starts even if the window is closed meanwhile.
    starting_.ask([plan = model.plan()] { return startRun(plan); },
                  [this](const Result<QString>& run) { finish(run); });
    emit startingChanged();
}

void RunStarter::resume(const QString& runPath, std::int64_t steps, LrExtension how) {
    if (isStarting()) return;
    starting_.ask([path = runPath.toStdString(), steps, how] { return resumeRun(path, steps, how); },
                  [this](const Result<QString>& run) { finish(run); });
    emit startingChanged();
}

void RunStarter::finish(const Result<QString>& run) {
    emit startingChanged();
    if (run) {
        emit started(*run);
        return;
    }
    Obstacle obstacle;
    obstacle.sentence = inWords(run.error().message);
    obstacle.key = firstKeyIn(run.error().message);
    emit refused(obstacle);
}

}  // namespace plimsoll::ui
