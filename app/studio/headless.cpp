// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/studio/headless.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "app/cli/terminal/interrupt.h"
#include "app/cli/terminal/progress.h"
#include "app/cli/terminal/terminal.h"
#include "core/base/output.h"
#include "core/plan/layout_change.h"
#include "core/plan/plan_io.h"
#include "core/plan/starting_plan.h"
#include "core/run/processes/start_checks.h"
#include "core/run/processes/supervisor.h"
#include "core/run/run_folder.h"
#include "core/run/run_store.h"
#include "ui/run/plot_export.h"
#include "ui/widgets/theme.h"

namespace plimsoll::studio {

namespace {

Result<Plan> plan_of(const Options& options) {
    Result<LoadedPlan> loaded = plan_from_argument(options.plan.empty() ? "cpu-demo" : options.plan);
    if (!loaded) return tl::unexpected(loaded.error());
    for (const std::string& note : loaded->notes) cli::warn(note);
    Plan plan = std::move(loaded->plan);
    if (!options.data.empty()) plan.data.path = options.data;
    if (options.steps > 0) {
        plan.training.steps = options.steps;
        plan.lr.warmup_steps = std::min(plan.lr.warmup_steps, options.steps);
    }
    if (options.ranks > 0) return with_ranks(std::move(plan), options.ranks);
    return plan;
}

int refuse(const Error& error) {
    cli::warn(error.message);
    return exit_code(error);
}

Result<RunState> train(const RunFolder& run, const Plan& plan) {
    cli::count_interrupts();
    cli::Progress progress(run, plan);
    SupervisorOptions supervisor;
    supervisor.wants_stop = [&] {
        const StopWish wish = cli::stop_wish();
        progress.update(wish);
        return wish;
    };
    Result<RunState> state = supervise(run, supervisor);
    progress.finish();
    return state;
}

/// False when a plot is missing.
bool draw(const RunFolder& run, const Options& options) {
    const std::string folder = options.png_dir.empty() ? (run.path() / "plots").string() : options.png_dir;
    const bool dark = options.theme == "dark";
    ui::applyTheme(*qApp, dark ? ui::ThemeChoice::Dark : ui::ThemeChoice::Light);
    QString problem;
    const QStringList plots =
        ui::renderPlots(QString::fromStdString(run.path().string()), QString::fromStdString(folder), dark, &problem);
    for (const QString& plot : plots) cli::say(plot.toStdString() + "\n");
    if (!problem.isEmpty()) cli::warn(problem.toStdString());
    return problem.isEmpty();
}

}  // namespace

int run_headless(const Options& options) {
    const Result<Plan> plan = plan_of(options);
    if (!plan) return refuse(plan.error());
    // All checks come before the folder is made, so that a run that cannot start leaves nothing behind.
    if (const Result<void> checked = check_start(*plan, new_run_path(*plan)); !checked) return refuse(checked.error());
    if (const auto worker = find_worker(); !worker) return refuse(worker.error());
    for (const std::string& warning : start_warnings(*plan)) cli::warn(warning);
    const Result<RunFolder> run = create_in_store(*plan);
    if (!run) return refuse(run.error());
    cli::say(fmt::format("run {}\n", run->path().string()));
    std::fflush(stdout);

    const Result<RunState> state = train(*run, *plan);
    if (!state) return refuse(state.error());
    const bool failed = state->status == RunStatus::Failed;
    if (failed)
        cli::warn(state->reason);
    else if (state->status == RunStatus::Stopped)
        cli::say(fmt::format("{}; `plimsoll train --resume --run {}` goes on from there\n", state->reason,
                             run->path().string()));
    const bool drawn = draw(*run, options);
    if (const Result<void> written = finish_output(); !written) return refuse(written.error());
    return failed || !drawn ? 1 : 0;
}

}  // namespace plimsoll::studio
