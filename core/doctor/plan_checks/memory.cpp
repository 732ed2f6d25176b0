// SPDX-License-Identifier: Apache-2.0
// Whether the plan fits its GPUs.
#include "core/doctor/plan_checks/plan_checks.h"

namespace plimsoll::doctor {

namespace {

/// Of 20 plans with this risk one runs out of memory.
constexpr double narrow = 0.05;
constexpr std::size_t most_changes = 4;

FindingChange change_of(const PlanFacts& facts, const Remedy& remedy) {
    std::string words = fmt::format("{}: saves {}, then {} of {}", remedy.name, format_bytes(remedy.saves),
                                    format_bytes(remedy.total), format_bytes(facts.memory.usable));
    if (facts.hardware)
        words += fmt::format("; a step takes {} {}", percent(std::abs(remedy.slowdown)),
                             remedy.slowdown < 0 ? "less" : "more");
    return {remedy.settings, words + fmt::format(" ({})", remedy.reason)};
}

}  // namespace

void check_memory(const PlanFacts& facts, Sheet& sheet) {
    const Bytes total = facts.total(), usable = facts.memory.usable;
    const RankMemory& rank = facts.memory.fullest();
    const double risk = risk_of(facts, total);
    const bool fits = facts.memory.fits();
    if (fits && risk <= narrow) {
        sheet.fine("fits", fmt::format("{} of {} a rank; {} are free", format_bytes(total), format_bytes(usable),
                                       format_bytes(usable - total)));
        return;
    }
    Finding finding;
    finding.item = "fits";
    finding.evidence.push_back(facts.remedies.why);
    if (facts.memory.stages.size() > 1)
        finding.evidence.push_back(
            fmt::format("{} of {} ranks are of {}.", rank.ranks, facts.plan.layout.world_size(), rank.label));
    if (fits) {
        finding.kind = "fits-narrowly";
        finding.severity = Severity::Warning;
        finding.title = fmt::format("Only {} of {} are left on the fullest rank.", format_bytes(usable - total),
                                    format_bytes(usable));
        finding.evidence.push_back(
            fmt::format("By the spread of measured peaks, {} of such plans run out of memory.", percent(risk)));
        finding.source = "quantiles of measured / estimated peaks, plimsoll validate memory";
    } else {
        finding.kind = "does-not-fit";
        finding.severity = Severity::Error;
        finding.title =
            fmt::format("The fullest rank needs {}, and {} are usable.", format_bytes(total), format_bytes(usable));
        finding.source = "the closed-form estimate (plimsoll estimate)";
        if (facts.remedies.set) finding.changes.push_back(change_of(facts, *facts.remedies.set));
        if (!facts.remedies.set)
            finding.evidence.push_back(
                fmt::format("With all changes that help it still needs {}: take more or larger GPUs.",
                            format_bytes(facts.remedies.least)));
    }
    for (const Remedy& remedy : facts.remedies.changes) {
        if (finding.changes.size() == most_changes) break;
        const bool enough = fits ? risk_of(facts, remedy.total) <= narrow : remedy.fits;
        if (enough) finding.changes.push_back(change_of(facts, remedy));
    }
    // Where no single change is enough, the changes that save most for their time.
    for (const Remedy& remedy : facts.remedies.changes) {
        if (finding.changes.size() >= 2) break;
        finding.changes.push_back(change_of(facts, remedy));
    }
    sheet.found(std::move(finding));
}

}  // namespace plimsoll::doctor
