// SPDX-License-Identifier: GPL-3.0-or-later
// The memory of a rank by term, before some edits and after them.
#pragma once

#include <optional>
#include <QString>

#include "core/estimate/estimate.h"
#include "ui/common/text_table.h"

namespace plimsoll::ui {

/// An estimate kept for comparison with later ones.
struct MemoryBaseline {
    MemoryEstimate memory;
    QString name;  ///< name of the plan
};

/// Term, before, after, difference, formula.
QStringList comparisonHeaders();
/// Every term of either rank, removed terms at the end, then the total. A row's tip has both formulas.
QList<TextRow> comparisonRows(const RankMemory& before, const RankMemory& after);
/// The rank of the baseline to compare with stage `index` of a plan of `count` stages: the stage of the same index, or
/// the fullest one where the numbers of stages differ.
const RankMemory& baselineRank(const MemoryBaseline& baseline, std::size_t index, std::size_t count);
/// "+3.1 GiB", "−12 GiB", "0 B".
QString differenceText(Bytes difference);

}  // namespace plimsoll::ui
