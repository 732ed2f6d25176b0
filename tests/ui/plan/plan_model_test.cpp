// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plan/plan_model.h"

#include <gtest/gtest.h>

#include <QFile>
#include <QSignalSpy>
#include <QTemporaryDir>

#include "core/plan/plan_schema.h"
#include "tests/support/changed_field.h"
#include "ui/common/plan_field.h"

namespace plimsoll::ui {
namespace {

const QString dp = QStringLiteral("layout.dp");
const QString tp = QStringLiteral("layout.tp");
const QString steps = QStringLiteral("training.steps");

TEST(PlanFields, EveryFieldOfThePlanHasALabelAHelpLineAndAValue) {
    const QHash<QString, QString> texts = planTexts(Plan());
    EXPECT_EQ(planFields().size(), static_cast<qsizetype>(plan_fields().size()));
    for (const PlanField& field : planFields()) {
        EXPECT_FALSE(field.label.isEmpty()) << field.key.toStdString();
        EXPECT_FALSE(field.help.isEmpty()) << field.key.toStdString();
        EXPECT_TRUE(texts.contains(field.key)) << field.key.toStdString();
    }
}

TEST(PlanFields, LabelsTellTheFieldsOfASectionApart) {
    QHash<QString, QString> seen;
    for (const PlanField& field : planFields()) {
        const QString name = field.section + QLatin1Char('/') + field.label;
        EXPECT_FALSE(seen.contains(name)) << field.key.toStdString() << " and " << seen[name].toStdString();
        seen.insert(name, field.key);
    }
}

TEST(PlanFields, NumbersAreReadAsTheyAreShown) {
    const PlanField& vocabulary = *findPlanField(QStringLiteral("model.vocab_size"));
    EXPECT_EQ(shownText(vocabulary, QStringLiteral("128256")), QStringLiteral("128,256"));
    EXPECT_EQ(plainText(vocabulary, QStringLiteral("128,256")), QStringLiteral("128256"));
    EXPECT_EQ(plainText(*findPlanField(QStringLiteral("optimizer.lr")), QStringLiteral(" .001 ")),
              QStringLiteral("0.001"));
}

TEST(PlanFields, SentencesNameFieldsByTheirLabels) {
    EXPECT_EQ(inWords("layout.tp is 3; allowed: 1"), QStringLiteral("Tensor parallel is 3; allowed: 1"));
    EXPECT_EQ(firstKeyIn("set layout.zero_stage to 0 or layout.tp to 1"), QStringLiteral("layout.zero_stage"));
    EXPECT_EQ(firstKeyIn("the disk is full"), QString());
}

TEST(PlanModel, StartsWithThePlanThatTrainsHere) {
    const PlanModel model;
    EXPECT_EQ(model.plan().model.preset, "llama-tiny");
    EXPECT_TRUE(model.isGood());
}

TEST(PlanModel, TypingInOneFieldIsOneStep) {
    PlanModel model;
    model.setText(steps, QStringLiteral("1"));
    model.setText(steps, QStringLiteral("12"));
    model.setText(steps, QStringLiteral("120"));
    EXPECT_EQ(model.plan().training.steps, 120);
    EXPECT_EQ(model.undoStack()->count(), 1);
    model.endEdit();
    model.setText(steps, QStringLiteral("121"));
    EXPECT_EQ(model.undoStack()->count(), 2);
    model.undoStack()->undo();
    EXPECT_EQ(model.plan().training.steps, 120);
    model.undoStack()->undo();
    EXPECT_EQ(model.plan().training.steps, 300);
    model.undoStack()->redo();
    EXPECT_EQ(model.plan().training.steps, 120);
}

TEST(PlanModel, EveryFieldCanBeTypedAndUndone) {
    PlanModel model;
    ASSERT_TRUE(model.open(QStringLiteral("cpu-demo")));
    const int opened = model.undoStack()->count();
    const Plan before = model.plan();
    for (const FieldInfo& field : plan_fields()) {
        SCOPED_TRACE(field.key);
        const QString key = QString::fromStdString(field.key);
        Plan changed = before;
        FieldChanger changer(field.key);
        visit_fields(changer, changed);
        model.setText(key, QString::fromStdString(changer.value));
        model.endEdit();
        EXPECT_FALSE(model.holdsUnreadable(key));
        EXPECT_EQ(model.text(key).toStdString(), changer.value);
        EXPECT_FALSE(model.plan() == before);
        ASSERT_EQ(model.undoStack()->count(), opened + 1);
        model.undoStack()->undo();
        EXPECT_TRUE(model.plan() == before);
    }
}

TEST(PlanModel, TypingBackToTheOldValueLeavesNothingToUndo) {
    PlanModel model;
    model.setText(steps, QStringLiteral("30"));
    model.setText(steps, QStringLiteral("300"));
    EXPECT_EQ(model.undoStack()->count(), 0);
}

TEST(PlanModel, UnreadableTextStaysOutOfThePlanAndSaysWhatIsAllowed) {
    PlanModel model;
    const QSignalSpy spy(&model, &PlanModel::changed);
    model.setText(dp, QStringLiteral("two"));
    EXPECT_EQ(spy.count(), 1);
    EXPECT_EQ(model.plan().layout.dp, 2);
    EXPECT_FALSE(model.isGood());
    EXPECT_TRUE(model.problemOf(dp).contains(QStringLiteral("1 to 1,048,576"))) << model.problemOf(dp).toStdString();
    model.setText(dp, QString());
    EXPECT_TRUE(model.problemOf(dp).contains(QStringLiteral("empty"))) << model.problemOf(dp).toStdString();
    model.setText(dp, QStringLiteral("2"));
    EXPECT_TRUE(model.isGood());
    EXPECT_EQ(model.undoStack()->count(), 0);
}

TEST(PlanModel, AnImpossiblePlanKeepsTheLastGoodNumbers) {
    PlanModel model;
    const Bytes before = model.lastGood().memory->fullest().total();
    model.setText(QStringLiteral("model.num_heads"), QStringLiteral("7"));
    EXPECT_FALSE(model.isGood());
    EXPECT_FALSE(model.numbers().memory.has_value());
    EXPECT_EQ(model.lastGood().memory->fullest().total(), before);
    ASSERT_FALSE(model.problems().isEmpty());
    EXPECT_TRUE(model.problems().front().key.startsWith(QStringLiteral("model.")));
}

TEST(PlanModel, AnOpenedPlanThatIsImpossibleShowsNoNumbersOfTheFormerOne) {
    const QTemporaryDir folder;
    const QString path = folder.filePath(QStringLiteral("impossible.json"));
    QFile file(path);
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write("{ \"plimsoll\": 1, \"model\": { \"preset\": \"llama-tiny\" }, \"layout\": { \"dp\": 3 } }");
    file.close();
    PlanModel model;
    ASSERT_TRUE(model.open(path));
    EXPECT_FALSE(model.isGood());
    EXPECT_FALSE(model.lastGood().memory.has_value());
    model.setText(dp, QStringLiteral("2"));
    EXPECT_TRUE(model.isGood());
    EXPECT_TRUE(model.lastGood().memory.has_value());
}

TEST(PlanModel, DataParallelFollowsTheNumberOfRanks) {
    PlanModel model;
    ASSERT_TRUE(model.open(QStringLiteral("llama-7b-4xa100")));
    model.setText(QStringLiteral("cluster.nodes"), QStringLiteral("4"));
    EXPECT_EQ(model.plan().layout.dp, 16);
    model.setText(tp, QStringLiteral("2"));
    EXPECT_EQ(model.plan().layout.dp, 8);
    EXPECT_TRUE(model.isGood());
    model.undoStack()->undo();
    EXPECT_EQ(model.plan().layout.dp, 16);
    EXPECT_EQ(model.plan().layout.tp, 1);
}

TEST(PlanModel, APresetTakesTheModelAndLeavesTheRest) {
    PlanModel model;
    model.setText(steps, QStringLiteral("301"));
    model.usePreset(QStringLiteral("llama-7b"));
    // transformers' LlamaForCausalLM of this size, tests/oracles/param_counts.json.
    EXPECT_EQ(model.numbers().counts.total, 6'738'415'616);
    EXPECT_EQ(model.plan().training.steps, 301);
    EXPECT_EQ(model.undoStack()->count(), 2);
    model.undoStack()->undo();
    EXPECT_EQ(model.plan().model.preset, "llama-tiny");
}

TEST(PlanModel, UndoingAnOpenGoesBackToTheFormerFileToo) {
    const QTemporaryDir folder;
    const QString first = folder.filePath(QStringLiteral("first.json"));
    const QString second = folder.filePath(QStringLiteral("second.json"));
    PlanModel model;
    ASSERT_TRUE(model.saveTo(first));
    EXPECT_FALSE(model.isModified());
    model.setText(steps, QStringLiteral("500"));
    EXPECT_TRUE(model.isModified());
    ASSERT_TRUE(model.saveTo(second));
    ASSERT_TRUE(model.open(first));
    EXPECT_EQ(model.plan().training.steps, 300);
    EXPECT_EQ(model.path(), first);
    model.undoStack()->undo();
    EXPECT_EQ(model.plan().training.steps, 500);
    EXPECT_EQ(model.path(), second);
    EXPECT_FALSE(model.isModified());
}

TEST(PlanModel, AFileThatCannotBeReadLeavesThePlanAlone) {
    const QTemporaryDir folder;
    const QString path = folder.filePath(QStringLiteral("broken.json"));
    QFile file(path);
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write("{ \"plimsoll\": 1, \"layout\": { \"dp\": \"many\" } }");
    file.close();
    PlanModel model;
    const Plan before = model.plan();
    const Result<void> opened = model.open(path);
    ASSERT_FALSE(opened);
    EXPECT_NE(opened.error().message.find("layout.dp"), std::string::npos) << opened.error().message;
    EXPECT_TRUE(model.plan() == before);
    EXPECT_EQ(model.undoStack()->count(), 0);
}

TEST(PlanModel, SummarySaysModelAndHardware) {
    PlanModel model;
    EXPECT_EQ(planSummary(model.plan()), QStringLiteral("llama-tiny on 2 CPU ranks"));
    ASSERT_TRUE(model.open(QStringLiteral("llama-7b-4xa100")));
    EXPECT_EQ(planSummary(model.plan()), QStringLiteral("llama-7b on 4 × A100 SXM4 80GB"));
}

}  // namespace
}  // namespace plimsoll::ui
