// SPDX-License-Identifier: Apache-2.0
// plimsoll supervise: the process that supervises a run in the background. Not for people.
#include "app/cli/terminal/command.h"
#include "app/cli/terminal/interrupt.h"
#include "core/calibration/peak_record.h"
#include "core/run/supervisor.h"

namespace plimsoll::cli {

namespace {

Result<int> supervise_run(const std::string& path) {
    PLIMSOLL_TRY(const auto run, RunFolder::open(path));
    count_interrupts();
    SupervisorOptions options;
    options.wants_stop = [] { return interrupts > 0; };
    PLIMSOLL_TRY(const auto state, supervise(run, options));
    // The run itself matters more: a failed record only costs later estimates a sample.
    if (state.status != RunStatus::Failed) static_cast<void>(record_peak(run));
    if (state.status == RunStatus::Failed) return failed("{}", state.reason);
    return 0;
}

}  // namespace

void add_supervise(CLI::App& app, Work& work) {
    CLI::App* command = add_command(app, "supervise", "Start and watch the ranks of a run folder");
    command->group("");  // hidden
    const auto run = std::make_shared<std::string>();
    command->add_option("RUN", *run, "Run folder")->required();
    command->callback([run, &work] { work = [run] { return supervise_run(*run); }; });
}

}  // namespace plimsoll::cli
