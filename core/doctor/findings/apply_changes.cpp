// SPDX-License-Identifier: Apache-2.0
#include "core/doctor/findings/apply_changes.h"

#include <set>

#include "core/doctor/findings/sheet.h"
#include "core/plan/plan_io.h"
#include "core/plan/settings.h"

namespace plimsoll {

AppliedChanges with_first_changes(const Plan& plan, const Diagnosis& diagnosis) {
    AppliedChanges all{plan, {}, {}};
    std::set<std::string> touched;
    for (const Finding& finding : diagnosis.findings) {
        if (finding.changes.empty()) continue;
        const std::vector<std::string>& settings = finding.changes.front().settings;
        const auto key = [](const std::string& setting) { return setting.substr(0, setting.find('=')); };
        bool free = true;
        for (const std::string& setting : settings) free = free && !touched.contains(key(setting));
        if (!free || !doctor::works(all.plan, settings)) {
            all.left_out.push_back(finding.kind);
            continue;
        }
        all.plan = *with_settings(all.plan, settings);
        for (const std::string& setting : settings) {
            touched.insert(key(setting));
            all.settings.push_back(setting);
        }
    }
    return all;
}

}  // namespace plimsoll
