// SPDX-License-Identifier: Apache-2.0
// What the checks write on: each line of the checklist gets one verdict, and findings keep only changes that work.
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
    /// Its title becomes the line's words. Changes that leave the plan impossible or as it is, or that the engine
    /// cannot train though it can train the plan, are dropped, and so are repeated ones.
    void found(Finding finding);

    /// Findings worst first, then in the checklist's order; lines of which nobody said anything say `unsaid`.
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

/// Whether with_settings() takes it, check_plan() finds nothing, and the engine trains it if it trains the plan.
bool works(const Plan& plan, const std::vector<std::string>& settings);

}  // namespace plimsoll::doctor
