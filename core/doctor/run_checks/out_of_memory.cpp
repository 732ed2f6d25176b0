// SPDX-License-Identifier: Apache-2.0
// A rank that ran out of memory: which, when, for which tensor, and what would have needed less.
#include <algorithm>
#include <cstdlib>

#include "core/calibration/peak_record.h"
#include "core/doctor/plan_checks/tensor_of_size.h"
#include "core/doctor/run_checks/dry_run_peak.h"
#include "core/doctor/run_checks/run_checks.h"
#include "core/telemetry/contract/event_contents.h"
#include "core/telemetry/contract/event_kind.h"

namespace plimsoll::doctor {

namespace {

constexpr std::size_t most_changes = 4;
/// A rank that takes a tenth more than estimated is beyond the estimates' own error (docs/estimate.md: 1.8 % on CPUs,
/// 3 % else).
constexpr double much_over = 1.1;

bool says_memory(const std::string& words) {
    for (const char* sign : {"out of memory", "bad_alloc", "can't allocate memory", "no memory left"})
        if (words.find(sign) != std::string::npos) return true;
    return false;
}

/// The rank's own last words: its event "error", or the supervisor's sentence.
const Event* own_words(const RunFacts& run) {
    for (const Event* event : run.events(EventKind::Error))
        if (says_memory(event->sentence)) return event;
    return nullptr;
}

/// The rank in "Rank 3: …" or "rank 3 ended …".
int rank_in(const std::string& words) {
    const auto at = words.find("ank ");
    const int rank = at == std::string::npos ? 0 : std::atoi(words.c_str() + at + 4);
    return std::clamp(rank, 0, 1 << 20);
}

/// The place where the other ranks waited: "during the all-reduce of …".
std::string where_others_waited(const RunFacts& run) {
    for (const Event* event : run.events(EventKind::Error)) {
        const auto from = event->sentence.find("during ");
        if (says_memory(event->sentence) || from == std::string::npos) continue;
        const std::string rest = event->sentence.substr(from, event->sentence.find(';', from) - from);
        return fmt::format("Rank {} waited for it {}.", rank_in(event->sentence), rest);
    }
    return "";
}

void tell_memory_then(const RunFacts& run, int rank, std::vector<std::string>& evidence) {
    const Curve now = run.curve(series::memory, rank), peak = run.curve(series::memory_peak, rank);
    if (now.size() == 0 || peak.size() == 0) return;
    const auto bytes = [](double value) { return format_bytes(static_cast<Bytes>(std::clamp(value, 0.0, 9e18))); };
    evidence.push_back(fmt::format("After step {} it held {}, with a peak of {} so far.", now.steps.back(),
                                   bytes(now.values.back()), bytes(peak.values.back())));
    // The latest first: an earlier start may have had another layout.
    const std::vector<const Event*> events = run.events(EventKind::Memory);
    for (auto at = events.rbegin(); at != events.rend(); ++at) {
        const Event* const event = *at;
        const auto memory = MemoryEvent::from_json(event->details);
        if (!memory || memory->rank != rank || memory->categories.empty()) continue;
        const auto most = std::max_element(memory->categories.begin(), memory->categories.end(),
                                           [](const auto& a, const auto& b) { return a.second < b.second; });
        if (most->second > 0)
            evidence.push_back(fmt::format("At the peak of step {} the most was {}: {}.", event->step, most->first,
                                           format_bytes(most->second)));
        return;
    }
}

void tell_plan(const PlanFacts& plan, Finding& finding) {
    const RankMemory& fullest = plan.memory.fullest();
    const auto largest = std::max_element(fullest.terms.begin(), fullest.terms.end(),
                                          [](const Term& a, const Term& b) { return a.bytes < b.bytes; });
    if (largest != fullest.terms.end())
        finding.evidence.push_back(fmt::format(
            "Estimated: {} of {} usable on the fullest rank, the most of it {} ({}).", format_bytes(fullest.total()),
            format_bytes(plan.memory.usable), largest->name, format_bytes(largest->bytes)));
    const auto change_of = [&](const Remedy& remedy) {
        return FindingChange{
            remedy.settings,
            fmt::format("{}: saves {} a rank, then {}{}; {}", remedy.name, format_bytes(remedy.saves),
                        format_bytes(remedy.total),
                        plan.hardware ? fmt::format(", for {} of a step's time",
                                                    remedy.slowdown > 0 ? percent(remedy.slowdown) : "none")
                                      : std::string(),
                        remedy.reason)};
    };
    if (plan.remedies.set) finding.changes.push_back(change_of(*plan.remedies.set));
    // A change that saves too little does not help a rank that ran out of memory; changes of the rounding come last.
    for (const bool exact : {true, false})
        for (const Remedy& remedy : plan.remedies.changes)
            if (remedy.exact == exact && finding.changes.size() < most_changes && remedy.saves * 20 >= fullest.total())
                finding.changes.push_back(change_of(remedy));
}

}  // namespace

bool ran_out_of_memory(const RunFacts& run) { return run.failed() && says_memory(run.state.reason); }

void check_out_of_memory(const RunFacts& run, const PlanFacts* plan, Sheet& sheet) {
    if (!ran_out_of_memory(run)) {
        const Curve peak = run.curve(series::memory_peak);
        if (peak.size() == 0)
            sheet.unknown("out-of-memory", "no step was recorded");
        else
            sheet.fine("out-of-memory", fmt::format("over {}", steps_count(run.last_step())));
    } else {
        const Event* own = own_words(run);
        const std::string words = own != nullptr ? own->sentence : run.state.reason;
        const int rank = rank_in(words);
        const bool killed = own == nullptr && words.find("SIGKILL") != std::string::npos;
        Finding finding{"out-of-memory",
                        Severity::Error,
                        "out-of-memory",
                        fmt::format("Rank {} ran out of memory in step {}.", rank, run.last_step() + 1),
                        {},
                        {},
                        "the rank's last words; remedies by the closed-form estimate"};
        if (killed)
            finding.evidence.push_back(
                "The system killed it (SIGKILL), which it does when no memory is left: nobody "
                "was told for which tensor.");
        if (const auto bytes = requested_bytes(words)) {
            const auto tensor = tensor_of_size(run.plan, *bytes);
            finding.evidence.push_back(fmt::format(
                "It asked for {} in one piece: {}.", format_bytes(*bytes),
                tensor ? "by its size " + tensor->what : std::string("no single tensor of the plan is that large")));
        }
        tell_memory_then(run, rank, finding.evidence);
        if (auto waited = where_others_waited(run); !waited.empty()) finding.evidence.push_back(std::move(waited));
        if (plan != nullptr) {
            for (std::string& sentence : dry_run_peak(run.plan, rank)) finding.evidence.push_back(std::move(sentence));
            finding.evidence.push_back(fmt::format("`plimsoll dry-run {} --rank {}` shows all that stands at the peak.",
                                                   run.run.plan_path().string(), rank));
            tell_plan(*plan, finding);
        }
        sheet.found(std::move(finding));
    }
    const auto measured = read_peak(run.run);
    if (!measured) return sheet.unknown("measured-memory", "the run has not ended well, so its peak was not kept");
    const std::string words =
        fmt::format("{} measured, {} estimated", format_bytes(measured->measured), format_bytes(measured->estimated));
    if (measured->ratio() <= much_over) return sheet.fine("measured-memory", words);
    sheet.found({"memory-over-estimate",
                 Severity::Advice,
                 "measured-memory",
                 fmt::format("A rank took {} more than estimated.", percent(measured->ratio() - 1)),
                 {words + "."},
                 {},
                 "RUN/" + run.run.layout().peak().filename().string() + "; later estimates on this device show it"});
}

}  // namespace plimsoll::doctor
