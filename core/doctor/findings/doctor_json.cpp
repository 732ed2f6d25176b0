// SPDX-License-Identifier: Apache-2.0
#include "core/doctor/findings/doctor_json.h"
#include "core/base/json.h"

namespace plimsoll {

namespace {

Json in_json(const Finding& finding) {
    Json changes = Json::array();
    for (const FindingChange& change : finding.changes)
        changes.push_back({{"settings", change.settings}, {"reason", change.reason}});
    return {{"kind", finding.kind},    {"severity", name_of(finding.severity)}, {"item", finding.item},
            {"title", finding.title},  {"evidence", finding.evidence},          {"changes", std::move(changes)},
            {"source", finding.source}};
}

}  // namespace

Json to_json(const Diagnosis& diagnosis) {
    Json findings = Json::array(), checklist = Json::array();
    for (const Finding& finding : diagnosis.findings) findings.push_back(in_json(finding));
    for (const ChecklistItem& item : diagnosis.checklist)
        checklist.push_back({{"id", item.id},
                             {"group", item.group},
                             {"question", item.question},
                             {"verdict", name_of(item.verdict)},
                             {"words", item.words}});
    return {{"healthy", diagnosis.healthy()}, {"findings", std::move(findings)}, {"checklist", std::move(checklist)}};
}

}  // namespace plimsoll
