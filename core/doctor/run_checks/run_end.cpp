// SPDX-License-Identifier: Apache-2.0
// The state of the run, and whether it had to roll back.
#include "core/doctor/plan_checks/plan_checks.h"
#include "core/doctor/run_checks/run_checks.h"
#include "core/telemetry/contract/event_kind.h"

namespace plimsoll::doctor {

void check_run_end(const RunFacts& run, bool explained, Sheet& sheet) {
    const auto status = name_of(run.state.status);
    if (run.failed() && !explained)
        sheet.found({"failed",
                     Severity::Error,
                     "ended",
                     fmt::format("The run failed after step {}.", run.last_step()),
                     {run.state.reason.empty() ? std::string("It left no reason; its logs may.") : run.state.reason},
                     {},
                     run.run.layout().state().filename().string()});
    else
        sheet.fine("ended", run.failed() ? std::string("it failed for the reason above")
                                         : fmt::format("{}, step {}", status, run.last_step()));

    const auto events = run.events(EventKind::Rollback);
    if (events.empty()) return sheet.fine("rollbacks", "none");
    Finding finding{"rollbacks",
                    Severity::Warning,
                    "rollbacks",
                    fmt::format("The run was rolled back {}.",
                                events.size() == 1 ? "once" : fmt::format("{} times", events.size())),
                    {events.front()->sentence},
                    calming_changes(run.plan),
                    "the guard's events"};
    if (events.size() > 1) finding.evidence.push_back(events.back()->sentence);
    finding.evidence.push_back(
        fmt::format("After {} the run ends (guard.max_rollbacks).", run.plan.guard.max_rollbacks));
    sheet.found(std::move(finding));
}

}  // namespace plimsoll::doctor
