// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/common/text_table.h"

#include <gtest/gtest.h>

#include <QSignalSpy>

namespace plimsoll::ui {
namespace {

TextRow rowOf(const char* a, const char* b) {
    TextRow row;
    row.cells = {QString::fromLatin1(a), QString::fromLatin1(b)};
    return row;
}

TEST(TextTable, TellsOfTheCellsThatChangedAndNoOthers) {
    TextTable table({QStringLiteral("a"), QStringLiteral("b")}, {1});
    table.setRows({rowOf("x", "1"), rowOf("y", "2")});
    QSignalSpy changed(&table, &QAbstractItemModel::dataChanged), reset(&table, &QAbstractItemModel::modelReset);
    table.setRows({rowOf("x", "1"), rowOf("y", "3")});
    ASSERT_EQ(changed.size(), 1);
    EXPECT_EQ(changed[0][0].toModelIndex(), table.index(1, 1));
    EXPECT_EQ(changed[0][1].toModelIndex(), table.index(1, 1));
    EXPECT_EQ(table.index(1, 1).data().toString(), QStringLiteral("3"));
    // Bold is painted too.
    TextRow strong = rowOf("x", "1");
    strong.strong = true;
    table.setRows({strong, rowOf("y", "3")});
    EXPECT_EQ(changed.size(), 3);
    EXPECT_EQ(reset.size(), 0);
    table.setRows({strong});
    EXPECT_EQ(reset.size(), 1);
}

}  // namespace
}  // namespace plimsoll::ui
