// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/waterline/waterline.h"

#include "core/plan/presets.h"

#include <gtest/gtest.h>

#include <QImage>
#include <QTest>

#include "core/frameworks/estimate_under.h"
#include "ui/common/value_format.h"
#include "ui/plan/plan_model.h"
#include "ui/waterline/remedies_model.h"
#include "ui/widgets/combo_box.h"
#include "ui/widgets/theme.h"

namespace plimsoll::ui {
namespace {

MemoryEstimate estimateOf(std::initializer_list<Bytes> activations, Bytes usable) {
    MemoryEstimate memory;
    memory.usable = usable;
    int number = 0;
    for (const Bytes bytes : activations) {
        RankMemory stage;
        stage.stage = number++;
        stage.ranks = 2;
        stage.terms.push_back({"parameters", "Parameters", Category::Parameters, 10 * GiB, "2 B × P", "by hand"});
        stage.terms.push_back({"activations", "Activations", Category::Activations, bytes, "s b h", "by hand"});
        memory.stages.push_back(stage);
    }
    return memory;
}

TEST(WaterlineBarsOf, NeighbouringStagesThatAreAlikeShareABar) {
    const WaterlineBars bars = waterlineBars(estimateOf({30 * GiB, 20 * GiB, 20 * GiB, 5 * GiB}, 80 * GiB), 4);
    ASSERT_EQ(bars.bars.size(), 3U);
    EXPECT_EQ(bars.bars[0].label, QStringLiteral("Stage 0"));
    EXPECT_EQ(bars.bars[1].label, QStringLiteral("Stages 1–2"));
    EXPECT_EQ(bars.bars[1].ranks, QStringLiteral("4 ranks"));
    EXPECT_EQ(bars.bars[2].total, 15 * GiB);
    EXPECT_EQ(bars.hidden, 0);
}

TEST(WaterlineBarsOf, OfManyKindsOfStagesTheFullestAreShown) {
    const WaterlineBars bars =
        waterlineBars(estimateOf({1 * GiB, 9 * GiB, 3 * GiB, 7 * GiB, 5 * GiB, 2 * GiB}, 80 * GiB), 3);
    ASSERT_EQ(bars.bars.size(), 3U);
    EXPECT_EQ(bars.hidden, 3);
    EXPECT_EQ(bars.bars[0].label, QStringLiteral("Stage 1"));
    EXPECT_EQ(bars.bars[1].label, QStringLiteral("Stage 3"));
    EXPECT_EQ(bars.bars[2].label, QStringLiteral("Stage 4"));
}

TEST(WaterlineBarsOf, DetailsHoldFormulaAndSource) {
    const WaterlineBars bars = waterlineBars(estimateOf({30 * GiB}, 80 * GiB), 4);
    const QString details = bars.bars[0].details[static_cast<std::size_t>(Category::Parameters)];
    EXPECT_TRUE(details.contains(QStringLiteral("2 B × P")));
    EXPECT_TRUE(details.contains(QStringLiteral("by hand")));
}

/// Figures and units are joined by a space that does not break.
std::string plain(QString text) { return text.replace(QChar(0x00A0), QLatin1Char(' ')).toStdString(); }

TEST(VerdictOf, FitsOrSaysByHowMuchNotAndWhy) {
    const Verdict good = verdictOf(estimateOf({30 * GiB}, 80 * GiB));
    EXPECT_TRUE(good.fits);
    EXPECT_EQ(plain(good.headline), "Fits: 40.0 of 80.0 GiB");
    const Verdict bad = verdictOf(estimateOf({90 * GiB}, 80 * GiB));
    EXPECT_FALSE(bad.fits);
    EXPECT_EQ(plain(bad.headline), "Does not fit: 100 of 80.0 GiB");
    EXPECT_EQ(plain(bad.detail), "over by 20.0 GiB · mostly activations, 90.0 %");
}

TEST(VerdictOf, TellsTheRangeAndTheOdds) {
    const QString sure = verdictOf(estimateOf({20 * GiB}, 80 * GiB), Framework::Megatron, true).range;
    EXPECT_TRUE(sure.contains(QStringLiteral("under 0.1"))) << plain(sure);
    const QString lost = verdictOf(estimateOf({200 * GiB}, 80 * GiB), Framework::Megatron, true).range;
    EXPECT_TRUE(lost.contains(QStringLiteral("over 99.9"))) << plain(lost);
}

TEST(WaterlineView, AnotherFrameworkIsAWayToLookAtThePlan) {
    PlanModel model;
    ASSERT_TRUE(model.open(QStringLiteral("llama-7b-4xa100")));
    Waterline waterline(&model);
    const int steps = model.undoStack()->count();
    model.setFramework(Framework::Megatron);
    const MemoryEstimate memory = *estimate_under(Framework::Megatron, model.plan());
    EXPECT_EQ(waterline.headline(), verdictOf(memory).headline);
    EXPECT_EQ(waterline.frameworks()->currentText(), QStringLiteral("Memory model: Megatron-LM"));
    EXPECT_EQ(model.undoStack()->count(), steps);
    // The Trainer shards nothing: it is said so, and Plimsoll's figures stay.
    model.setFramework(Framework::HfTrainer);
    EXPECT_TRUE(model.isGood());
    EXPECT_TRUE(waterline.detail().contains(QStringLiteral("Shown as Plimsoll"))) << waterline.detail().toStdString();
    EXPECT_EQ(waterline.headline(), verdictOf(*estimate_memory(model.plan())).headline);
}

TEST(WaterlineView, SaysWhatAFrameworkDoesOtherwise) {
    PlanModel model;
    ASSERT_TRUE(model.open(QStringLiteral("llama-7b-4xa100")));
    Waterline waterline(&model);
    EXPECT_TRUE(waterline.notes()->isHidden());
    model.setText(QStringLiteral("layout.loss_chunks"), QStringLiteral("8"));
    EXPECT_TRUE(waterline.notes()->isHidden());
    model.setFramework(Framework::Megatron);
    const MemoryEstimate memory = *estimate_under(Framework::Megatron, model.plan());
    EXPECT_FALSE(waterline.notes()->isHidden());
    EXPECT_EQ(waterline.notes()->text(), notesTitle(notesOf(memory, model.plan())));
    EXPECT_TRUE(waterline.notes()->toolTip().contains(QStringLiteral("layout.loss_chunks is not in Megatron-LM")))
        << waterline.notes()->toolTip().toStdString();
}

TEST(WaterlineView, ShowsTheCoresNumbersAndFollowsAnEdit) {
    PlanModel model;
    ASSERT_TRUE(model.open(QStringLiteral("llama-7b-4xa100")));
    Waterline waterline(&model);
    const MemoryEstimate memory = *estimate_memory(model.plan());
    EXPECT_EQ(waterline.headline(), verdictOf(memory).headline);
    EXPECT_TRUE(waterline.headline().contains(partOf(memory.fullest().total(), memory.usable)));
    EXPECT_TRUE(waterline.sizes().contains(QStringLiteral("6,738,415,616")));

    model.setText(QStringLiteral("layout.zero_stage"), QStringLiteral("0"));
    const MemoryEstimate more = *estimate_memory(model.plan());
    EXPECT_GT(more.fullest().total(), memory.fullest().total());
    EXPECT_EQ(waterline.headline(), verdictOf(more).headline);
}

TEST(WaterlineView, SegmentsAreAsWideAsTheirBytesAndTheLineIsDrawnRed) {
    PlanModel model;
    ASSERT_TRUE(model.open(QStringLiteral("llama-7b-4xa100")));
    WaterlineBarsView view;
    view.resize(800, 104);
    const MemoryEstimate memory = *model.numbers().memory;
    view.setBars(waterlineBars(memory, 4), memory.usable);
    const RankMemory& fullest = memory.fullest();
    const double perByte = view.segment(0, 0).width() / static_cast<double>(fullest.of(Category::Parameters));
    for (std::size_t i = 0; i < category_names.size(); ++i)
        EXPECT_NEAR(view.segment(0, i).width(), perByte * static_cast<double>(fullest.of(static_cast<Category>(i))),
                    1e-6);
    EXPECT_NEAR(view.lineX() - view.segment(0, 0).left(), perByte * static_cast<double>(memory.usable), 1e-6);

    const QImage image = view.grab().toImage();
    const Theme& theme = Theme::of(view.palette());
    const QPointF middle = view.segment(0, 0).center();
    EXPECT_EQ(image.pixelColor(middle.toPoint()), theme.category[0]);
    EXPECT_EQ(image.pixelColor(static_cast<int>(std::lround(view.lineX())), 1), theme.water);
}

TEST(WaterlineView, FourStagesLeaveRoomForTheTextUnderTheLine) {
    for (const int width : {580, 900}) {
        WaterlineBarsView view;
        view.resize(width, view.sizeHint().height());
        view.setBars(waterlineBars(estimateOf({30 * GiB, 20 * GiB, 15 * GiB, 5 * GiB}, 80 * GiB), 4), 80 * GiB);
        ASSERT_EQ(view.bars().size(), 4U);
        const QRectF label = view.lineLabel();
        EXPECT_GE(label.top(), view.segment(3, 0).bottom());
        const QImage image = view.grab().toImage();
        const QColor water = Theme::of(view.palette()).water;
        int drawn = 0;
        for (int y = static_cast<int>(label.top()) + 1; y < static_cast<int>(label.bottom()); ++y)
            for (int x = static_cast<int>(label.left()); x < static_cast<int>(label.right()); ++x)
                if (image.pixelColor(x, y) == water) ++drawn;
        EXPECT_GT(drawn, 20) << "at " << width << " px: \"80 GiB usable\" in the line's red";
        EXPECT_GE(view.segment(0, 0).height(), 9) << "the bars stay bars";
    }
}

TEST(WaterlineView, TheArrowKeysReadEachPart) {
    PlanModel model;
    WaterlineBarsView view;
    view.resize(800, 104);
    view.setBars(waterlineBars(*model.numbers().memory, 4), model.numbers().memory->usable);
    QTest::keyClick(&view, Qt::Key_Right);
    EXPECT_TRUE(view.accessibleDescription().contains(QStringLiteral("Gradients")))
        << view.accessibleDescription().toStdString();
    QTest::keyClick(&view, Qt::Key_Left);
    EXPECT_TRUE(view.accessibleDescription().contains(QStringLiteral("Parameters")));
}

TEST(RemedyRows, AChangeThatIsNotExactSaysThatItChangesNumerics) {
    Remedies found;
    found.changes.resize(3);
    found.changes[0].exact = true;
    found.changes[1].exact = false;
    found.changes[2].exact = false;
    found.changes[2].adapters = true;
    const QList<TextRow> rows = remedyRows(found);
    EXPECT_FALSE(rows[0].cells[3].contains(QStringLiteral("numerics")));
    EXPECT_TRUE(rows[1].cells[3].endsWith(QStringLiteral(" · changes numerics"))) << rows[1].cells[3].toStdString();
    EXPECT_TRUE(rows[2].cells[3].endsWith(QStringLiteral("adapters alone"))) << rows[2].cells[3].toStdString();
}

TEST(WaterlineView, APlanNearTheLineIsNotCalledFitting) {
    PlanModel model;
    ASSERT_TRUE(model.open(QStringLiteral("llama-7b-4xa100")));
    Waterline waterline(&model);
    EXPECT_TRUE(waterline.headline().startsWith(QStringLiteral("Fits: "))) << waterline.headline().toStdString();
    const double total = static_cast<double>(model.numbers().memory->fullest().total()) / static_cast<double>(GiB);
    model.setText(QStringLiteral("cluster.usable_gib"), QString::number(total * 1.01, 'f', 2));
    EXPECT_TRUE(model.numbers().memory->fits());
    EXPECT_TRUE(waterline.headline().startsWith(QStringLiteral("May not fit: "))) << waterline.headline().toStdString();
    EXPECT_TRUE(verdictOf(*model.numbers().memory, Framework::Plimsoll, true).risky);
}

TEST(WaterlineView, ASequenceBeyondTheModelsPositionsIsNoted) {
    PlanModel model;
    ASSERT_TRUE(model.open(QStringLiteral("llama-7b-4xa100")));
    Waterline waterline(&model);
    model.setText(QStringLiteral("data.sequence_length"), QStringLiteral("2048"));
    EXPECT_TRUE(waterline.notes()->isHidden());
    model.setText(QStringLiteral("data.sequence_length"), QStringLiteral("4096"));
    EXPECT_FALSE(waterline.notes()->isHidden());
    EXPECT_TRUE(waterline.notes()->toolTip().contains(QStringLiteral("4,096 tokens is longer than the 2,048")))
        << waterline.notes()->toolTip().toStdString();
}

TEST(WaterlineView, ARunsPlanStandsInThePlaceOfTheEditedOne) {
    PlanModel model;
    ASSERT_TRUE(model.open(QStringLiteral("llama-2-70b-64xh100")));
    Waterline waterline(&model);
    const Plan run = *plan_preset("cpu-demo");
    waterline.showRun(QStringLiteral("tiny-run"), run);
    EXPECT_TRUE(waterline.headline().startsWith(QStringLiteral("tiny-run · Fits: ")))
        << waterline.headline().toStdString();
    EXPECT_TRUE(waterline.why()->isHidden()) << "remedies are for the plan";
    waterline.showRun({}, std::nullopt);
    EXPECT_EQ(waterline.headline(), verdictOf(*model.numbers().memory, Framework::Plimsoll, true).headline);
}

TEST(WaterlineView, AnImpossiblePlanShowsTheSentenceInPlaceOfNumbers) {
    PlanModel model;
    Waterline waterline(&model);
    model.setText(QStringLiteral("layout.dp"), QStringLiteral("3"));
    ASSERT_FALSE(model.isGood());
    EXPECT_EQ(waterline.headline(), model.problems().front().sentence);
    model.undoStack()->undo();
    EXPECT_TRUE(waterline.headline().startsWith(QStringLiteral("Fits: ")));
}

}  // namespace
}  // namespace plimsoll::ui
