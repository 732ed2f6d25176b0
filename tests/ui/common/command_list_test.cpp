// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/common/command_list.h"

#include <gtest/gtest.h>

namespace plimsoll::ui {
namespace {

Command command(const char* title, const char* detail, const char* words) {
    return {QString::fromLatin1(title), QString::fromLatin1(detail), {}, QString::fromLatin1(words), {}};
}

QString first(const CommandList& list) { return list.rowCount() > 0 ? list.index(0, 0).data().toString() : QString(); }

TEST(CommandListOf, FindsByTitleByKeyAndByHelp) {
    CommandList list;
    list.setCommands({command("Peak learning rate", "Recipe", "optimizer.lr"), command("Train", "", ""),
                      command("Tensor parallel", "Layout · each holds a slice of every layer", "layout.tp")});
    list.setFilter(QStringLiteral("tens"));
    EXPECT_EQ(first(list), QStringLiteral("Tensor parallel"));
    list.setFilter(QStringLiteral("lr"));
    EXPECT_EQ(first(list), QStringLiteral("Peak learning rate"));
    list.setFilter(QStringLiteral("slice"));
    EXPECT_EQ(first(list), QStringLiteral("Tensor parallel"));
    list.setFilter(QStringLiteral("tensor train"));
    EXPECT_EQ(list.rowCount(), 0);
    list.setFilter(QString());
    EXPECT_EQ(list.rowCount(), 3);
}

TEST(CommandListOf, TitlesThatBeginWithTheWordComeFirst) {
    CommandList list;
    list.setCommands({command("Stop the run", "", ""), command("Run", "", "")});
    list.setFilter(QStringLiteral("run"));
    EXPECT_EQ(first(list), QStringLiteral("Run"));
}

TEST(CommandListOf, RunsWhatIsChosen) {
    CommandList list;
    int ran = 0;
    Command counted = command("Count", "", "");
    counted.run = [&ran] { ++ran; };
    list.setCommands({command("Other", "", ""), counted});
    list.setFilter(QStringLiteral("count"));
    list.run(list.index(0, 0));
    EXPECT_EQ(ran, 1);
    list.run(QModelIndex());
    EXPECT_EQ(ran, 1);
}

}  // namespace
}  // namespace plimsoll::ui
