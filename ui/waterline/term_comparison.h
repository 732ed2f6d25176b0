// SPDX-License-Identifier: GPL-3.0-or-later
// The memory of a rank by term, before some edits and after them.
#pragma once

#include <optional>
#include <QString>

#include "core/estimate/estimate.h"
#include "ui/common/text_table.h"

namespace plimsoll::ui {

/// An estimate that was kept to compare later ones with.
struct MemoryBaseline {
    MemoryEstimate memory;
    QString name;  ///< of the plan it was
};

/// Term, before, after, difference, formula.
QStringList comparisonHeaders();
/// Every term of either rank, those that are gone at the end, then the total. A row's tip has both formulas.
QList<TextRow> comparisonRows(const RankMemory& before, const RankMemory& after);
/// The rank of the baseline to compare with stage `index` of a plan of `count` stages: the same one, or the fullest
/// where the stages are not as many.
const RankMemory& baselineRank(const MemoryBaseline& baseline, std::size_t index, std::size_t count);
/// "+3.1 GiB", "−12 GiB", "0 B".
QString differenceText(Bytes difference);

}  // namespace plimsoll::ui
