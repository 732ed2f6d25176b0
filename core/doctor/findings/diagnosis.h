// SPDX-License-Identifier: Apache-2.0
// What is wrong with a plan or a run, why, and what to change: findings with their evidence, and the whole checklist.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json.h"
#include "core/plan/plan.h"
#include "core/run/run_folder.h"

namespace plimsoll {

/// Error: the plan or run cannot train, or did not. Warning: it trains much worse or slower than possible. Advice:
/// worth a try.
enum class Severity { Error, Warning, Advice };
inline constexpr std::array<std::string_view, 3> severity_names{"error", "warning", "advice"};
inline constexpr std::string_view name_of(Severity severity) {
    return severity_names[static_cast<std::size_t>(severity)];
}

/// A change of the plan that with_settings() accepts and after which the plan is possible.
struct FindingChange {
    std::vector<std::string> settings;  ///< "layout.micro_batch=4"
    std::string reason;                 ///< the effect of the change, with the bytes or the share of a step it brings
};

struct Finding {
    std::string kind;  ///< stable: "out-of-memory", "nan-loss", …
    Severity severity = Severity::Advice;
    std::string item;  ///< id of the finding's checklist line
    std::string title;
    std::vector<std::string> evidence;   ///< sentences with numbers, steps and ranks
    std::vector<FindingChange> changes;  ///< the change to try first comes first
    std::string source;                  ///< source of the threshold or the cure; may be empty
};

enum class ItemVerdict { Fine, Found, Unknown };
inline constexpr std::array<std::string_view, 3> item_verdict_names{"ok", "finding", "could not be judged"};
inline constexpr std::string_view name_of(ItemVerdict verdict) {
    return item_verdict_names[static_cast<std::size_t>(verdict)];
}

/// A line of the checklist: the point that was examined, and its verdict.
struct ChecklistItem {
    std::string id;     ///< "out-of-memory"
    std::string group;  ///< "Memory", "Numbers", "Learning", "Speed", "Upkeep"
    std::string question;
    ItemVerdict verdict = ItemVerdict::Unknown;
    std::string words;  ///< why it is fine, what was found, or why it could not be judged
};

struct Diagnosis {
    std::vector<Finding> findings;         ///< worst first
    std::vector<ChecklistItem> checklist;  ///< all of it, in the order of the guide: memory, NaN, learning, slow
    /// No finding is worse than advice.
    bool healthy() const;
};

/// The plan with the first change of each finding, worst first, as far as the changes are compatible.
struct AppliedChanges {
    Plan plan;
    std::vector<std::string> settings;  ///< settings of all changes made
    std::vector<std::string> left_out;  ///< kinds of findings whose change conflicts with an earlier one
};

}  // namespace plimsoll
