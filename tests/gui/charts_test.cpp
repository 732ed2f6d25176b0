// SPDX-License-Identifier: GPL-3.0-or-later
// The charts of the pages show the plan's own numbers, also after an edit.
#include <QAbstractBarSeries>
#include <QBarSet>
#include <QChart>
#include <QPieSeries>

#include "tests/support/gui_fixture.h"
#include "ui/charts/part_bars.h"
#include "ui/charts/share_pie.h"
#include "ui/memory/memory_page.h"
#include "ui/planner/planner_page.h"
#include "ui/planner/planner_table.h"
#include "ui/waterline/time_parts.h"
#include "ui/waterline/waterline_data.h"

namespace plimsoll::ui {
namespace {

class ChartsTest : public GuiTest {
protected:
    template <class T>
    T* chart(const char* name) const {
        for (T* each : window_->findChildren<T*>())
            if (each->accessibleName() == QString::fromLatin1(name)) return each;
        return nullptr;
    }
    /// What the series of a ring holds, by name.
    static QHash<QString, double> slices(const SharePie* pie) {
        QHash<QString, double> values;
        const auto* series = qobject_cast<QPieSeries*>(pie->chart()->series().value(0));
        if (series)
            for (const QPieSlice* slice : series->slices()) values[slice->label()] = slice->value();
        return values;
    }
    static QList<QBarSet*> sets(const PartBars* bars) {
        const auto* series = qobject_cast<QAbstractBarSeries*>(bars->chart()->series().value(0));
        return series ? series->barSets() : QList<QBarSet*>();
    }
};

TEST_F(ChartsTest, TheModelPageShowsEveryParameterOnce) {
    openPlan(QStringLiteral("llama-7b-4xa100"));
    window_->showPage(PageId::Model);
    const auto* pie = chart<SharePie>("Parameter shares");
    ASSERT_NE(pie, nullptr);
    ASSERT_TRUE(pie->isVisible());
    // Llama 7B: 32,000 × 4,096 twice, 32 layers of 4 × 4,096², 3 × 4,096 × 11,008 and two norms, and the final norm.
    QHash<QString, double> expected{{QStringLiteral("Embedding"), 131'072'000},
                                    {QStringLiteral("Attention"), 2'147'483'648},
                                    {QStringLiteral("MLP"), 4'328'521'728},
                                    {QStringLiteral("Norms"), 266'240},
                                    {QStringLiteral("Output head"), 131'072'000}};
    EXPECT_EQ(slices(pie), expected);
    type("model.num_layers", "16");
    expected[QStringLiteral("Attention")] /= 2;
    expected[QStringLiteral("MLP")] /= 2;
    expected[QStringLiteral("Norms")] = 16 * 2 * 4096 + 4096;
    EXPECT_EQ(slices(pie), expected);
}

TEST_F(ChartsTest, TheMemoryPageShowsTheFullestRankByCategory) {
    openPlan(QStringLiteral("llama-2-70b-64xh100"));
    window_->memoryPage()->model()->setProgram(QStringLiteral(PLIMSOLL_BIN_DIR "/fake_dry_run"));
    window_->showPage(PageId::Memory);
    const auto* bars = chart<PartBars>("Estimated memory by category");
    ASSERT_NE(bars, nullptr);
    for (const char* microBatch : {"1", "2"}) {
        window_->plan()->setText(QStringLiteral("layout.micro_batch"), QString::fromLatin1(microBatch));
        ASSERT_TRUE(window_->plan()->isGood());
        const RankMemory& fullest = window_->plan()->numbers().memory->fullest();
        QHash<QString, double> expected, shown;
        for (std::size_t c = 0; c < category_names.size(); ++c) {
            const auto category = static_cast<Category>(c);
            expected[categoryName(category)] = static_cast<double>(fullest.of(category));
        }
        for (const QBarSet* set : sets(bars)) shown[set->label()] = set->sum();
        EXPECT_EQ(shown, expected);
        double whole = 0;
        for (const double bytes : std::as_const(shown)) whole += bytes;
        EXPECT_EQ(whole, static_cast<double>(fullest.total()));
    }
}

TEST_F(ChartsTest, ThePlannerComparesTheStepTimeOfALayoutWithThePlans) {
    openPlan(QStringLiteral("llama-2-70b-64xh100"));
    window_->showPage(PageId::Planner);
    PlannerPage* page = window_->plannerPage();
    ASSERT_TRUE(wait([page] { return page->model()->answer() && page->model()->answer()->ended; }, 120'000));
    const std::vector<CandidateRow>& rows = page->table()->rows();
    const PlanNumbers& own = window_->plan()->numbers();
    std::size_t other = 0;
    while (other < rows.size() && rows[other].candidate.layout == plan().layout) ++other;
    ASSERT_LT(other, rows.size());
    page->table()->table()->selectRow(static_cast<int>(other));
    const auto* bars = chart<PartBars>("Parts of the step time");
    ASSERT_NE(bars, nullptr);
    ASSERT_TRUE(wait([bars] { return bars->isVisible() && sets(bars).size() == 2; }, 5000));
    QHash<QString, double> sums;
    for (const QBarSet* set : sets(bars)) sums[set->label()] = set->sum();
    EXPECT_DOUBLE_EQ(sums[QStringLiteral("this layout")], rows[other].candidate.time.total());
    EXPECT_DOUBLE_EQ(sums[QStringLiteral("the plan")], own.step->time.total());
    for (const ChartPart& part : bars->parts())
        EXPECT_TRUE(part.value > 0 || part.other > 0) << part.name.toStdString();
}

}  // namespace
}  // namespace plimsoll::ui
