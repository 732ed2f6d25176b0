// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/studio/headless.h"

#include <fmt/format.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <vector>

#include "app/studio/progress.h"
#include "core/plan/plan_io.h"
#include "core/run/run_folder.h"
#include "core/run/supervisor.h"
#include "ui/pages/plot_export.h"

namespace plimsoll::studio {

namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void on_interrupt(int) { interrupted = true; }

Result<Plan> plan_of(const Options& options) {
    const Result<LoadedPlan> loaded = plan_from_argument(options.plan.empty() ? "cpu-demo" : options.plan);
    if (!loaded) return tl::unexpected(loaded.error());
    for (const std::string& note : loaded->notes) fmt::print(stderr, "{}\n", note);
    std::vector<std::string> settings;
    if (options.steps > 0) settings.push_back(fmt::format("training.steps={}", options.steps));
    if (!options.data.empty()) settings.push_back("data.path=" + options.data);
    if (options.ranks > 0) {
        settings.push_back(fmt::format("cluster.gpus_per_node={}", options.ranks));
        settings.push_back("cluster.nodes=1");
        settings.push_back(fmt::format("layout.dp={}", options.ranks));
    }
    return with_settings(loaded->plan, settings);
}

int refuse(const Error& error) {
    fmt::print(stderr, "plimsoll-studio: {}\n", error.message);
    return exit_code(error);
}

Result<RunState> train(const RunFolder& run, const Plan& plan) {
    std::signal(SIGINT, on_interrupt);
    std::signal(SIGTERM, on_interrupt);
    Progress progress(run.telemetry_path(0), plan.training.steps);
    SupervisorOptions supervisor;
    supervisor.wants_stop = [&progress] {
        progress.print();
        return interrupted.load();
    };
    Result<RunState> state = supervise(run, supervisor);
    progress.finish();
    return state;
}

}  // namespace

int run_headless(const Options& options) {
    const Result<Plan> plan = plan_of(options);
    if (!plan) return refuse(plan.error());
    const std::filesystem::path place = new_run_path(*plan);
    if (const Result<void> checked = check_start(*plan, place); !checked) return refuse(checked.error());
    const Result<RunFolder> run = RunFolder::create(place, *plan, false);
    if (!run) return refuse(run.error());
    fmt::print("Training {} on {} ranks for {} steps; the run is {}\n", plan->name, plan->cluster.world_size(),
               format_count(plan->training.steps), run->path().string());
    std::fflush(stdout);
    const Result<RunState> state = train(*run, *plan);
    if (!state) return refuse(state.error());

    const bool failed = state->status == RunStatus::Failed;
    if (failed)
        fmt::print(stderr, "plimsoll-studio: {}\n", state->reason);
    else
        fmt::print("{}\n", state->status == RunStatus::Stopped ? "Stopped." : "Finished.");
    const std::string folder = options.png_dir.empty() ? (run->path() / "plots").string() : options.png_dir;
    QString problem;
    const QStringList plots = ui::renderPlots(QString::fromStdString(run->path().string()),
                                              QString::fromStdString(folder), options.theme == "dark", &problem);
    for (const QString& plot : plots) fmt::print("{}\n", plot.toStdString());
    if (!problem.isEmpty()) fmt::print(stderr, "plimsoll-studio: {}\n", problem.toStdString());
    return failed || !problem.isEmpty() ? 1 : 0;
}

}  // namespace plimsoll::studio
