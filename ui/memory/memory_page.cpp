// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/memory/memory_page.h"

#include <QComboBox>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QStyle>

#include "ui/charts/part_bars.h"
#include "ui/common/value_format.h"
#include "ui/memory/memory_chart.h"
#include "ui/plan/plan_model.h"
#include "ui/waterline/waterline_data.h"
#include "ui/widgets/card.h"
#include "ui/widgets/category_legend.h"
#include "ui/widgets/combo_box.h"
#include "ui/widgets/fact_table.h"
#include "ui/widgets/figure_strip.h"
#include "ui/widgets/wrap_label.h"

namespace plimsoll::ui {

namespace {

constexpr int soonMs = 400;  // typing may go on in this time
constexpr int mostStanding = 60;
constexpr int mostStages = 256;

}  // namespace

MemoryPage::MemoryPage(PlanModel* plan, QWidget* parent)
    : Page(tr("Memory"), parent), plan_(plan), model_(plan), standing_(standingHeaders(), {4, 5}) {
    soon_.setSingleShot(true);
    soon_.setInterval(soonMs);
    QVBoxLayout* column = addColumn(1);
    makeChart(column);
    makeBreakdown(column);
    makeStanding(column);
    column->addStretch(1);
    connect(&soon_, &QTimer::timeout, &model_, &DryRunModel::startIfStale);
    connect(&model_, &DryRunModel::changed, this, &MemoryPage::refresh);
    connect(plan_, &PlanModel::changed, this, &MemoryPage::planChanged);
    planChanged();
}

void MemoryPage::makeChart(QVBoxLayout* column) {
    timeline_ = new Card(tr("Memory over one step"), this);
    stage_ = new ComboBox(timeline_);
    stage_->setAccessibleName(tr("Pipeline stage of the dry run"));
    connect(stage_, &QComboBox::activated, this, [this](int stage) {
        model_.setStage(stage);
        model_.startIfStale();
    });
    run_ = new QPushButton(timeline_);
    run_->setAccessibleName(tr("Run the dry run, or cancel it"));
    connect(run_, &QPushButton::clicked, this, [this] {
        if (model_.isRunning())
            model_.cancel();
        else
            model_.start();
    });
    timeline_->addToTitle(stage_);
    timeline_->addToTitle(run_);
    status_ = new WrapLabel(timeline_);
    progress_ = new QProgressBar(timeline_);
    progress_->setRange(0, 0);
    progress_->setTextVisible(false);
    progress_->setAccessibleName(tr("The dry run is under way"));
    figures_ = new FigureStrip(timeline_);
    legend_ = new CategoryLegend(timeline_);
    chart_ = new MemoryChart(timeline_);
    for (QWidget* part : {static_cast<QWidget*>(status_), static_cast<QWidget*>(progress_),
                          static_cast<QWidget*>(figures_), static_cast<QWidget*>(legend_)})
        timeline_->body()->addWidget(part);
    timeline_->body()->addWidget(chart_, 1);
    auto* hint = new WrapLabel(timeline_);
    hint->setProperty("tone", "muted");
    hint->setText(tr(
        "Ctrl and the wheel zoom, dragging moves, a double click shows the whole step; point at the chart for the op. Shift "
        "and the arrow keys walk from point to point."));
    timeline_->body()->addWidget(hint);
    column->addWidget(timeline_);
}

void MemoryPage::makeBreakdown(QVBoxLayout* column) {
    breakdown_ = new Card(tr("Estimated memory by category"), this);
    categories_ = new PartBars(tr("Estimated memory by category"), tr("bytes"), breakdown_);
    breakdown_->body()->addWidget(categories_);
    column->addWidget(breakdown_);
}

void MemoryPage::makeStanding(QVBoxLayout* column) {
    peak_ = new Card(tr("Live tensors at the peak"), this);
    table_ = new FactTable(tr("Live tensors at the peak"), peak_);
    table_->setModel(&standing_);
    table_->setStretch(1);
    table_->setWholeHeight(true);
    peak_->body()->addWidget(table_);
    column->addWidget(peak_);
}

QString MemoryPage::status() const { return status_->text(); }

void MemoryPage::showEvent(QShowEvent* event) {
    Page::showEvent(event);
    soon_.start();
    refresh();
}

void MemoryPage::hideEvent(QHideEvent* event) {
    soon_.stop();
    Page::hideEvent(event);
}

void MemoryPage::planChanged() {
    refreshStages();
    if (isVisible()) soon_.start();
    refresh();
}

void MemoryPage::refreshStages() {
    const int count = static_cast<int>(
        std::clamp<std::int64_t>(plan_->lastGood().memory ? plan_->plan().layout.pp : 1, 1, mostStages));
    if (stage_->count() != count) {
        const QSignalBlocker quiet(stage_);
        stage_->clear();
        for (int i = 0; i < count; ++i) stage_->addItem(stagesLabel(i, i, count));
    }
    stage_->setVisible(count > 1);
    model_.setStage(std::min(model_.stage(), count - 1));
    stage_->setCurrentIndex(model_.stage());
}

Bytes MemoryPage::estimated() const {
    const std::optional<MemoryEstimate>& memory = plan_->numbers().memory;
    const auto stage = static_cast<std::size_t>(model_.stage());
    if (!memory || stage >= memory->stages.size()) return 0;
    return memory->stages[stage].total() - memory->stages[stage].of(Category::Overhead);
}

void MemoryPage::refreshBreakdown() {
    const std::optional<MemoryEstimate>& memory = plan_->lastGood().memory;
    breakdown_->setVisible(memory.has_value());
    if (!memory) return;
    const RankMemory& fullest = memory->fullest();
    std::vector<ChartPart> parts;
    for (std::size_t c = 0; c < category_names.size(); ++c) {
        const auto category = static_cast<Category>(c);
        const Bytes bytes = fullest.of(category);
        if (bytes == 0) continue;
        parts.push_back({.name = categoryName(category),
                         .value = static_cast<double>(bytes),
                         .figures = {bytesText(bytes),
                                     percentText(static_cast<double>(bytes) / static_cast<double>(fullest.total()))},
                         .colour = [c](const Theme& theme) { return theme.category[c]; },
                         .tip = tr("%1: %2 bytes").arg(categoryName(category), countText(bytes))});
    }
    categories_->setParts(std::move(parts));
    const auto stage = static_cast<std::size_t>(fullest.stage);
    breakdown_->setFact(
        tr("most loaded GPU (%1): %2")
            .arg(stagesLabel(stage, stage, memory->stages.size()).toLower(), partOf(fullest.total(), memory->usable)));
}

void MemoryPage::refresh() {
    if (!isVisible()) return;
    refreshBreakdown();
    const auto timeline = model_.timeline();
    const bool running = model_.isRunning(), failed = !running && !model_.problem().isEmpty();
    const bool impossible = !plan_->isGood();
    run_->setText(running ? tr("Cancel") : tr("Run again"));
    run_->setEnabled(running || !impossible);
    progress_->setVisible(running);
    QString sentence;
    if (impossible)
        sentence = tr("The plan is impossible as it stands: the sentence at the bottom says what to change.");
    else if (running)
        sentence = tr("The engine's own step runs on tensors without data…");
    else if (failed)
        sentence = model_.problem();
    else if (timeline && !model_.isFresh())
        sentence = tr("The plan has changed since.");
    status_->setProperty("tone", failed ? "bad" : "muted");
    status_->style()->unpolish(status_);
    status_->style()->polish(status_);
    status_->setText(sentence);
    status_->setVisible(!sentence.isEmpty());
    timeline_->setFact(timeline ? tr("rank %1 of %2, by a dry run on %3")
                                      .arg(countText(timeline->rank), QString::fromStdString(timeline->plan),
                                           QString::fromStdString(timeline->device))
                                : tr("by a dry run of one rank"));
    const bool known = timeline != nullptr;
    figures_->setVisible(known);
    legend_->setVisible(known);
    peak_->setVisible(known);
    chart_->setDimmed(known && !model_.isFresh());
    chart_->setEmptyText(failed || impossible ? QString() : tr("The dry run has not ended yet."));
    if (known) {
        const std::optional<MemoryEstimate>& last = plan_->lastGood().memory;
        figures_->setFigures(timelineFigures(*timeline, model_.isFresh() ? estimated() : 0, last ? last->usable : 0));
        standing_.setRows(standingRows(*timeline, mostStanding));
        legend_->setShowsReserved(!timeline->reserved.empty());
        peak_->setFact(tr("after event %1").arg(countText(timeline->peak_event)));
    }
    const std::optional<MemoryEstimate>& memory = plan_->lastGood().memory;
    chart_->setTimeline(timeline, memory ? memory->usable : 0);
    keepWhole();
}

void MemoryPage::resizeEvent(QResizeEvent* event) {
    Page::resizeEvent(event);
    keepWhole();
}

/// Texts that wrap need more height in a narrow window than the layout's least: the page scrolls rather than squeeze the
/// chart.
void MemoryPage::keepWhole() {
    widget()->setMinimumHeight(widget()->layout()->minimumHeightForWidth(viewport()->width()));
}

}  // namespace plimsoll::ui
