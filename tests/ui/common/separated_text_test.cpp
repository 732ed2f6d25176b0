// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/common/separated_text.h"

#include <gtest/gtest.h>

#include <limits>

namespace plimsoll::ui {
namespace {

TEST(TableTextOf, NumbersReadBackAsTheyWere) {
    TableText table(QLatin1Char('\t'));
    table.addRow({QStringLiteral("step"), QStringLiteral("loss")});
    table.add(0.1 + 0.2);
    table.add(std::numeric_limits<double>::quiet_NaN());
    table.endRow();
    EXPECT_EQ(table.text().toStdString(), "step\tloss\n0.30000000000000004\tnan\n");
}

TEST(TableTextOf, CellsWithCommasQuotesAndLinesAreQuoted) {
    // RFC 4180, sections 2.6 and 2.7.
    TableText table(QLatin1Char(','));
    table.addRow({QStringLiteral("a,b"), QStringLiteral("say \"no\""), QStringLiteral("two\nlines"), QString()});
    EXPECT_EQ(table.text().toStdString(), "\"a,b\",\"say \"\"no\"\"\",\"two\nlines\",\n");
}

TEST(TableTextOf, AnEmptyFirstCellKeepsItsColumn) {
    TableText table(QLatin1Char(','));
    table.addNothing();
    table.add(2.0);
    table.endRow();
    EXPECT_EQ(table.text().toStdString(), ",2\n");
}

}  // namespace
}  // namespace plimsoll::ui
