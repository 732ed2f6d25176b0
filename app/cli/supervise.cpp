// SPDX-License-Identifier: Apache-2.0
// plimsoll supervise: the process that supervises a run in the background. Not for people.
#include "app/cli/terminal/command.h"
#include "app/cli/terminal/interrupt.h"
#include "core/calibration/peak_record.h"
#include "core/run/processes/supervisor.h"

namespace plimsoll::cli {

namespace {

struct SuperviseArguments {
    std::string run;
    double timeout = 0;
};

Result<int> supervise_run(const SuperviseArguments& arguments) {
    PLIMSOLL_TRY(const auto run, RunFolder::open(arguments.run));
    count_interrupts();
    SupervisorOptions options;
    options.rank_timeout = arguments.timeout;
    options.wants_stop = &stop_wish;
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
    const auto arguments = std::make_shared<SuperviseArguments>();
    command->add_option("RUN", arguments->run, "Run folder")->required();
    command->add_option("--timeout", arguments->timeout);
    command->callback([arguments, &work] { work = [arguments] { return supervise_run(*arguments); }; });
}

}  // namespace plimsoll::cli
