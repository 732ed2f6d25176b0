// SPDX-License-Identifier: Apache-2.0
#include "app/cli/reports/doctor_report.h"

#include <algorithm>

#include "app/cli/terminal/terminal.h"

namespace plimsoll::cli {

namespace {

// Of the 256-colour palette.
constexpr int red = 160, amber = 172, blue = 32, green = 35, grey = 245;

std::size_t width() { return static_cast<std::size_t>(std::max(terminal_size().columns, 40)); }

std::string mark(Severity severity) {
    const int colours[] = {red, amber, blue};
    const auto index = static_cast<std::size_t>(severity);
    return coloured(fitted(severity_names[index], 8), colours[index]);
}

std::string mark(ItemVerdict verdict) {
    switch (verdict) {
        case ItemVerdict::Fine:
            return coloured("ok", green);
        case ItemVerdict::Found:
            return coloured("!!", amber);
        case ItemVerdict::Unknown:
            break;
    }
    return coloured(" ?", grey);
}

std::string finding_text(const Finding& finding) {
    std::string text =
        fmt::format("{} {}\n", mark(finding.severity), bold(wrapped(printable(finding.title), width() - 9, 9)));
    for (const std::string& sentence : finding.evidence)
        text += "         " + wrapped(printable(sentence), width() - 9, 9) + "\n";
    for (const FindingChange& change : finding.changes)
        text += "       > " +
                wrapped(fmt::format("{}: {}", fmt::join(change.settings, " "), change.reason), width() - 9, 11) + "\n";
    if (!finding.source.empty())
        text += "         " +
                coloured(wrapped(fmt::format("[{}] {}", finding.kind, finding.source), width() - 9, 9), grey) + "\n";
    return text + "\n";
}

std::string checklist_text(const Diagnosis& diagnosis) {
    std::string text, group;
    for (const ChecklistItem& item : diagnosis.checklist) {
        if (item.group != group) {
            group = item.group;
            text += bold(group) + "\n";
        }
        text += fmt::format("  {} {}\n", mark(item.verdict),
                            wrapped(fmt::format("{}: {}", item.question, printable(item.words)), width() - 5, 7));
    }
    return text;
}

}  // namespace

std::string doctor_report(const Diagnosis& diagnosis, const std::string& what) {
    const auto count = [&](ItemVerdict verdict) {
        return std::count_if(diagnosis.checklist.begin(), diagnosis.checklist.end(),
                             [&](const ChecklistItem& item) { return item.verdict == verdict; });
    };
    std::string text = bold(printable(what)) + "\n\n";
    for (const Finding& finding : diagnosis.findings) text += finding_text(finding);
    if (diagnosis.findings.empty()) text += coloured("Nothing was found.", green) + "\n\n";
    text += fmt::format("Looked at {} things: {} ok (ok), {} with a finding (!!), {} that could not be judged (?).\n\n",
                        diagnosis.checklist.size(), count(ItemVerdict::Fine), count(ItemVerdict::Found),
                        count(ItemVerdict::Unknown));
    return text + checklist_text(diagnosis);
}

}  // namespace plimsoll::cli
