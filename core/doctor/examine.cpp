// SPDX-License-Identifier: Apache-2.0
#include "core/doctor/examine.h"

#include <algorithm>

#include "core/doctor/plan_checks/plan_checks.h"
#include "core/doctor/run_checks/run_checks.h"
#include "core/plan/checks/check_plan.h"
#include "core/plan/plan_io.h"

namespace plimsoll {

namespace {

using namespace doctor;

/// The contradictions of an impossible plan; true where there are none.
bool check_possible(const Plan& plan, Sheet& sheet) {
    const std::vector<Problem> problems = check_plan(plan);
    if (problems.empty()) {
        sheet.fine("possible", "every part goes with the others");
        return true;
    }
    for (const Problem& problem : problems)
        sheet.found({"impossible",
                     Severity::Error,
                     "possible",
                     fmt::format("{} cannot be as it is.", problem.key),
                     {problem.sentence},
                     {},
                     "check_plan"});
    return false;
}

/// Nothing where the plan is impossible.
std::optional<PlanFacts> examine(const Plan& plan, Sheet& sheet) {
    if (!check_possible(plan, sheet)) return std::nullopt;
    auto facts = facts_of(plan);
    if (!facts) {
        sheet.unknown("fits", facts.error().message);
        return std::nullopt;
    }
    check_memory(*facts, sheet);
    check_levers(*facts, sheet);
    check_numbers(plan, sheet);
    check_rounding(plan, sheet);
    check_learning_rate(plan, sheet);
    check_optimizer(plan, sheet);
    check_speed(*facts, sheet);
    check_links(*facts, sheet);
    check_upkeep(plan, sheet);
    return *std::move(facts);
}

}  // namespace

bool Diagnosis::healthy() const {
    return std::none_of(findings.begin(), findings.end(),
                        [](const Finding& finding) { return finding.severity != Severity::Advice; });
}

Diagnosis examine_plan(const Plan& plan) {
    Sheet sheet(plan);
    const bool known = examine(plan, sheet).has_value();
    return std::move(sheet).diagnosis(known ? "a run's records tell" : "the plan is impossible as it stands");
}

Result<Diagnosis> examine_run(const RunFolder& folder) {
    PLIMSOLL_TRY(const auto run, read_run(folder));
    Sheet sheet(run.plan);
    const auto plan = examine(run.plan, sheet);
    const PlanFacts* facts = plan ? &*plan : nullptr;
    check_out_of_memory(run, facts, sheet);
    check_run_numbers(run, sheet);
    check_run_layers(run, sheet);
    check_run_rate(run, sheet);
    check_run_speed(run, facts, sheet);
    check_straggler(run, sheet);
    const bool explained = ran_out_of_memory(run) || run.failed_with({"not finite", "overflow"});
    check_run_end(run, explained, sheet);
    auto diagnosis = std::move(sheet).diagnosis("the run's plan is impossible as it stands");
    return diagnosis;
}

}  // namespace plimsoll
