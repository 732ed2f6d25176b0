// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plan/plan_files.h"

#include <gtest/gtest.h>

#include <QDir>
#include <QFile>
#include <QSignalSpy>
#include <QTemporaryDir>

namespace plimsoll::ui {
namespace {

class PlanFilesTest : public testing::Test {
protected:
    void SetUp() override { qputenv("XDG_STATE_HOME", home_.path().toUtf8()); }
    QString draft() const { return home_.filePath(QStringLiteral("plimsoll/draft.json")); }
    QTemporaryDir home_;
};

TEST_F(PlanFilesTest, AnUnsavedEditComesBackInTheNextSession) {
    {
        PlanModel model;
        PlanFiles files(&model);
        model.setText(QStringLiteral("training.steps"), QStringLiteral("77"));
    }
    PlanModel model;
    PlanFiles files(&model);
    const Result<bool> restored = files.restoreDraft();
    ASSERT_TRUE(restored);
    EXPECT_TRUE(*restored);
    EXPECT_EQ(model.plan().training.steps, 77);
    EXPECT_EQ(model.undoStack()->count(), 0);
}

TEST_F(PlanFilesTest, TheDraftKnowsItsFileAndThatItWasChanged) {
    const QString path = home_.filePath(QStringLiteral("mine.json"));
    {
        PlanModel model;
        PlanFiles files(&model);
        ASSERT_TRUE(files.save(path));
        model.setText(QStringLiteral("training.steps"), QStringLiteral("77"));
    }
    PlanModel model;
    PlanFiles files(&model);
    ASSERT_TRUE(files.restoreDraft());
    EXPECT_EQ(model.path(), path);
    EXPECT_TRUE(model.isModified());
    EXPECT_EQ(files.recent(), QStringList{path});
}

TEST_F(PlanFilesTest, WithoutADraftThePlanStays) {
    PlanModel model;
    PlanFiles files(&model);
    const Result<bool> restored = files.restoreDraft();
    ASSERT_TRUE(restored);
    EXPECT_FALSE(*restored);
}

TEST_F(PlanFilesTest, ADamagedDraftIsSetAsideNotLost) {
    ASSERT_TRUE(QDir().mkpath(home_.filePath(QStringLiteral("plimsoll"))));
    QFile file(draft());
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write("{ half a dra");
    file.close();
    PlanModel model;
    PlanFiles files(&model);
    const Result<bool> restored = files.restoreDraft();
    ASSERT_FALSE(restored);
    EXPECT_NE(restored.error().message.find("draft.json.unreadable"), std::string::npos) << restored.error().message;
    EXPECT_TRUE(QFile::exists(draft() + QStringLiteral(".unreadable")));
    EXPECT_TRUE(model.isGood());
}

TEST_F(PlanFilesTest, AStateFolderThatCannotBeMadeIsSaidOnce) {
    QFile file(home_.filePath(QStringLiteral("plimsoll")));
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    PlanModel model;
    PlanFiles files(&model);
    const QSignalSpy spy(&files, &PlanFiles::draftFailed);
    EXPECT_FALSE(files.saveDraft());
    EXPECT_FALSE(files.saveDraft());
    EXPECT_EQ(spy.count(), 1);
}

TEST_F(PlanFilesTest, RecentFilesAreNewestFirstWithoutThoseThatAreGone) {
    PlanModel model;
    PlanFiles files(&model);
    const QString first = home_.filePath(QStringLiteral("first.json"));
    const QString second = home_.filePath(QStringLiteral("second.json"));
    ASSERT_TRUE(files.save(first));
    ASSERT_TRUE(files.save(second));
    EXPECT_EQ(files.recent(), (QStringList{second, first}));
    ASSERT_TRUE(files.open(first));
    EXPECT_EQ(files.recent(), (QStringList{first, second}));
    ASSERT_TRUE(QFile::remove(first));
    EXPECT_EQ(files.recent(), QStringList{second});
}

}  // namespace
}  // namespace plimsoll::ui
