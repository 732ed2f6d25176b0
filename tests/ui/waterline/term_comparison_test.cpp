// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/waterline/term_comparison.h"

#include <gtest/gtest.h>

namespace plimsoll::ui {
namespace {

RankMemory rankOf(std::vector<std::pair<const char*, Bytes>> terms) {
    RankMemory rank;
    for (const auto& [key, bytes] : terms)
        rank.terms.push_back({key, key, Category::Buffers, bytes, "by hand", "test"});
    return rank;
}

TEST(TermComparison, HasEveryTermOfEitherAndTheTotal) {
    const auto rows = comparisonRows(rankOf({{"same", 4 * GiB}, {"gone", 2 * GiB}, {"less", 3 * GiB}}),
                                     rankOf({{"same", 4 * GiB}, {"less", 1 * GiB}, {"new", 5 * GiB}}));
    ASSERT_EQ(rows.size(), 5);
    QStringList names, differences;
    for (const TextRow& row : rows) {
        names << row.cells[0];
        differences << QString(row.cells[3]).replace(QChar(0x00A0), QLatin1Char(' '));
    }
    EXPECT_EQ(names.join(QLatin1Char(' ')).toStdString(), "same less new gone Total");
    EXPECT_EQ(differences.join(QLatin1Char('|')).toStdString(), "0 B|−2.00 GiB|+5.00 GiB|−2.00 GiB|+1.00 GiB");
    EXPECT_EQ(rows[2].cells[1], QStringLiteral("–"));
    EXPECT_EQ(rows[3].cells[2], QStringLiteral("–"));
    EXPECT_FALSE(rows[0].strong);
    EXPECT_TRUE(rows[1].strong);
}

TEST(TermComparison, OtherStagesAreComparedWithTheFullest) {
    MemoryBaseline baseline;
    baseline.memory.stages = {rankOf({{"a", 1}}), rankOf({{"a", 9}})};
    EXPECT_EQ(baselineRank(baseline, 0, 2).total(), 1);
    EXPECT_EQ(baselineRank(baseline, 0, 4).total(), 9);
}

}  // namespace
}  // namespace plimsoll::ui
