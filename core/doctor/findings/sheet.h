// SPDX-License-Identifier: Apache-2.0
// Collects what the checks say: each line of the checklist gets one verdict, and findings keep only changes that work.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/doctor/findings/diagnosis.h"
#include "core/plan/checks/check_plan.h"

namespace plimsoll::doctor {

class Sheet {
public:
    explicit Sheet(const Plan& plan) : plan_(plan) {}

    void fine(std::string_view item, std::string words) { say(item, ItemVerdict::Fine, std::move(words)); }
    void unknown(std::string_view item, std::string why) { say(item, ItemVerdict::Unknown, std::move(why)); }
    /// The finding's title becomes the line's words. A change is dropped when it leaves the plan impossible or
    /// unchanged, when it repeats an earlier one, and when the engine can train the plan but not the changed plan.
    void found(Finding finding);

    /// Findings worst first, then in the checklist's order; lines without a verdict get the words `unsaid`.
    Diagnosis diagnosis(const std::string& unsaid) &&;

private:
    void say(std::string_view item, ItemVerdict verdict, std::string words);

    struct Said {
        ItemVerdict verdict = ItemVerdict::Unknown;
        std::string words;
    };
    const Plan& plan_;
    std::vector<Finding> findings_;
    std::map<std::string, Said, std::less<>> said_;
};

/// Whether with_settings() accepts the settings, check_plan() finds no problem in the changed plan, and the engine can
/// train it if it can train `plan`.
bool works(const Plan& plan, const std::vector<std::string>& settings);

}  // namespace plimsoll::doctor
