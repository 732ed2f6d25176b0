// SPDX-License-Identifier: Apache-2.0
#include "core/doctor/findings/sheet.h"

#include <algorithm>

#include "core/doctor/findings/checklist.h"
#include "core/plan/checks/check_plan.h"
#include "core/plan/plan_io.h"
#include "core/plan/settings.h"
#include "core/plan/trainable.h"

namespace plimsoll::doctor {

namespace {

std::size_t place_of(const std::string& item) {
    const auto& lines = checklist_lines();
    const auto at =
        std::find_if(lines.begin(), lines.end(), [&](const ChecklistLine& line) { return line.id == item; });
    return static_cast<std::size_t>(at - lines.begin());
}

}  // namespace

bool works(const Plan& plan, const std::vector<std::string>& settings) {
    const auto changed = with_settings(plan, settings);
    if (!changed || *changed == plan || !check_plan(*changed).empty()) return false;
    return !require_trainable(plan) || require_trainable(*changed);
}

void Sheet::say(std::string_view item, ItemVerdict verdict, std::string words) {
    const auto at = said_.find(item);
    // A line with findings keeps the words of the first.
    if (at != said_.end() && at->second.verdict == ItemVerdict::Found) return;
    said_.insert_or_assign(std::string(item), Said{verdict, std::move(words)});
}

void Sheet::found(Finding finding) {
    std::erase_if(finding.changes, [&](const FindingChange& change) { return !works(plan_, change.settings); });
    std::vector<FindingChange> once;
    for (FindingChange& change : finding.changes) {
        const bool known = std::any_of(once.begin(), once.end(),
                                       [&](const FindingChange& each) { return each.settings == change.settings; });
        if (!known) once.push_back(std::move(change));
    }
    finding.changes = std::move(once);
    say(finding.item, ItemVerdict::Found, finding.title);
    findings_.push_back(std::move(finding));
}

Diagnosis Sheet::diagnosis(const std::string& unsaid) && {
    Diagnosis all;
    for (const ChecklistLine& line : checklist_lines()) {
        const auto at = said_.find(line.id);
        const bool known = at != said_.end();
        all.checklist.push_back({std::string(line.id), std::string(line.group), std::string(line.question),
                                 known ? at->second.verdict : ItemVerdict::Unknown, known ? at->second.words : unsaid});
    }
    std::stable_sort(findings_.begin(), findings_.end(), [](const Finding& a, const Finding& b) {
        return std::pair(a.severity, place_of(a.item)) < std::pair(b.severity, place_of(b.item));
    });
    all.findings = std::move(findings_);
    return all;
}

}  // namespace plimsoll::doctor
