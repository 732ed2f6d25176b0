// SPDX-License-Identifier: Apache-2.0
#include "core/validation/check_steps.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace plimsoll {

Result<std::vector<StepCheck>> check_steps(const std::vector<StepRow>& rows, const Efficiency* efficiency) {
    std::vector<StepCheck> checks;
    for (const auto& row : rows) {
        PLIMSOLL_TRY(auto hardware, hardware_of(row.plan.cluster, row.plan.numerics.dtype));
        if (efficiency) hardware.efficiency = *efficiency;
        hardware.efficiency.gradient_overlap = row.gradient_overlap;
        auto report = step_time(row.plan, hardware);
        if (!report) return bad_input("{}: {}", row.name, report.error().message);
        const double error = report->step / row.truth - 1;
        checks.push_back({row, *std::move(report), error});
    }
    return checks;
}

StepSummary summarize(const std::vector<StepCheck>& checks) {
    StepSummary summary;
    summary.rows = checks.size();
    if (checks.empty()) return summary;
    std::vector<double> errors;
    std::map<std::string, std::vector<const StepCheck*>> groups;
    for (const auto& check : checks) {
        errors.push_back(std::abs(check.error));
        summary.bias += check.error / static_cast<double>(checks.size());
        summary.mean_error += errors.back() / static_cast<double>(checks.size());
        groups[check.row.group].push_back(&check);
    }
    std::sort(errors.begin(), errors.end());
    summary.median_error = (errors[(errors.size() - 1) / 2] + errors[errors.size() / 2]) / 2;
    for (const auto& [name, rows] : groups) {
        if (rows.size() < 2) continue;
        const auto* chosen = *std::min_element(rows.begin(), rows.end(),
                                               [](auto* a, auto* b) { return a->report.step < b->report.step; });
        const auto* best =
            *std::min_element(rows.begin(), rows.end(), [](auto* a, auto* b) { return a->row.truth < b->row.truth; });
        const double regret = chosen->row.truth / best->row.truth - 1;
        ++summary.groups;
        summary.mean_regret += regret;
        summary.worst_regret = std::max(summary.worst_regret, regret);
    }
    if (summary.groups > 0) summary.mean_regret /= static_cast<double>(summary.groups);
    return summary;
}

}  // namespace plimsoll
