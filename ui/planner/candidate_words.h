// SPDX-License-Identifier: GPL-3.0-or-later
// A found layout in sentences and beside the plan's own, and two layouts side by side.
#pragma once

#include <optional>

#include "core/estimate/estimate.h"
#include "core/planner/planner.h"
#include "ui/common/text_table.h"

namespace plimsoll::ui {

/// A layout with its memory and time in full.
struct LayoutFigures {
    Plan plan;
    std::optional<MemoryEstimate> memory;
    std::optional<StepReport> step;  ///< pipelines in closed form, as the search counts them
};
/// Memory under the framework; none where it cannot train the plan.
LayoutFigures figuresOfPlan(const Plan& plan, Framework framework = Framework::Plimsoll);

/// "1,149,728 layouts in 0.8 s on 2 threads: 310,222 evaluated, 839,506 ruled out".
QString countsWords(const SearchCounts& counts);

/// "12.3 % faster than the plan's layout: 0.41 s less pipeline bubble, 0.12 s more tensor-parallel links · 3.1 GiB less
/// on the fullest rank"; faster and slower are of the time of a step (of as many tokens), as in neighbours(); without figures of the plan's own layout the sentence says what it compares with.
QString besideWords(const LayoutFigures& present, const LayoutFigures& candidate);
/// "300 B tokens: 21.3 days, 65,400 GPU-hours, 130,800"; "" without a budget.
QString budgetWords(const PlanRequest& request, const LayoutFigures& candidate);

QStringList sideBySideHeaders(const QString& first, const QString& second);
/// Every setting of layout and cluster that differs, the figures, memory by category, time by part; the better of two
/// figures is not marked, the difference says it.
QList<TextRow> sideBySideRows(const LayoutFigures& first, const LayoutFigures& second);

QStringList neighbourHeaders();
QList<TextRow> neighbourRows(const std::vector<Neighbour>& neighbours);
QStringList recommendationHeaders();
QList<TextRow> recommendationRows(const std::vector<Recommendation>& recommendations);
QStringList relaxationHeaders();
QList<TextRow> relaxationRows(const std::vector<Relaxation>& relaxations);

}  // namespace plimsoll::ui
