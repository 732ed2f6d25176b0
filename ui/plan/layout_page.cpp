// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plan/layout_page.h"

#include <algorithm>
#include <QLabel>
#include <QPushButton>

#include "ui/common/value_format.h"
#include "ui/pipeline/gantt.h"
#include "ui/plan/layout_sentences.h"
#include "ui/plan/plan_model.h"
#include "ui/plan/plan_tables.h"
#include "ui/plan/rules_view.h"
#include "ui/waterline/time_parts.h"
#include "ui/waterline/waterline_data.h"
#include "ui/widgets/card.h"
#include "ui/widgets/combo_box.h"
#include "ui/widgets/fact_table.h"
#include "ui/widgets/field_row.h"
#include "ui/widgets/time_bar.h"
#include "ui/widgets/wrap_label.h"

namespace plimsoll::ui {

namespace {

constexpr int roomyTitle = 860;  // width of the page from which a card's title holds a field, a link and a figure

}  // namespace

LayoutPage::LayoutPage(PlanModel* model, QWidget* parent)
    : Page(tr("Layout"), parent),
      model_(model),
      terms_(termHeaders(), {1}),
      comparison_(comparisonHeaders(), {1, 2, 3}),
      recompute_(recomputeHeaders(), {1, 2}) {
    makeLeft();
    QVBoxLayout* right = addColumn(1);
    pipeline_ = new Card(tr("Pipeline"), this);
    gantt_ = new Gantt(pipeline_);
    pipeline_->body()->addWidget(gantt_);
    auto* open = new QPushButton(tr("Open the Pipeline page"), pipeline_);
    open->setProperty("link", true);
    open->setAccessibleName(open->text());
    connect(open, &QPushButton::clicked, this, &LayoutPage::pipelineRequested);
    pipeline_->addToTitle(open);
    right->addWidget(pipeline_);
    step_ = new Card(tr("Step time"), this);
    time_ = new TimeBar(step_);
    step_->body()->addWidget(time_);
    right->addWidget(step_);
    makeMemory(right);
    makeLower(right);
    right->addStretch(1);
    connect(model_, &PlanModel::changed, this, &LayoutPage::refresh);
    setBaseline(false);
    refresh();
}

void LayoutPage::makeLeft() {
    QVBoxLayout* left = addColumn(0, 312);
    layout_ = new Card(tr("Layout"), this);
    layout_->body()->addWidget(
        new FieldForm(model_,
                      {QStringLiteral("layout.dp"), QStringLiteral("layout.tp"), QStringLiteral("layout.pp"),
                       QStringLiteral("layout.cp"), QStringLiteral("layout.ep"), QStringLiteral("layout.zero_stage"),
                       QStringLiteral("layout.micro_batch"), QStringLiteral("layout.accumulation"),
                       QStringLiteral("layout.schedule")},
                      layout_));
    auto* rule = new QFrame(layout_);
    rule->setObjectName(QStringLiteral("Rule"));
    batch_ = new WrapLabel(layout_);
    batch_->setProperty("strong", true);
    layout_->body()->addWidget(rule);
    layout_->body()->addWidget(batch_);
    left->addWidget(layout_);

    auto* savers = new Card(tr("Memory savers"), this);
    savers->body()->addWidget(
        new FieldForm(model_,
                      {QStringLiteral("layout.recompute"), QStringLiteral("layout.recompute_every"),
                       QStringLiteral("layout.recompute_stages"), QStringLiteral("layout.sequence_parallel"),
                       QStringLiteral("layout.compress_activations"), QStringLiteral("layout.offload_activations"),
                       QStringLiteral("layout.loss_chunks"), QStringLiteral("layout.offload_optimizer"),
                       QStringLiteral("layout.offload_parameters"), QStringLiteral("layout.nvme_path")},
                      savers));
    left->addWidget(savers);
    left->addStretch(1);
}

void LayoutPage::makeMemory(QVBoxLayout* column) {
    memory_ = new Card(tr("Memory breakdown"), this);
    stage_ = new ComboBox(memory_);
    stage_->setAccessibleName(tr("Stage whose memory is shown"));
    memory_->addToTitle(stage_);
    keep_ = new QPushButton(memory_);
    keep_->setProperty("link", true);
    keep_->setCheckable(true);
    keep_->setAccessibleName(tr("Compare the memory with what it is now"));
    memory_->addToTitle(keep_);
    kept_ = new WrapLabel(memory_);
    kept_->setProperty("tone", "muted");
    memory_->body()->addWidget(kept_);
    term_table_ = makeTermTable(tr("Memory by term"), &terms_, 2);
    term_table_->setColumnLimit(3, 200);
    comparison_table_ = makeTermTable(tr("Memory by term, before and after"), &comparison_, 4);
    term_ = new WrapLabel(memory_);
    term_->setProperty("tone", "muted");
    term_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    memory_->body()->addWidget(term_);
    connect(keep_, &QPushButton::toggled, this, &LayoutPage::setBaseline);
    column->addWidget(memory_);
    connect(stage_, &QComboBox::currentIndexChanged, this, &LayoutPage::refreshMemory);
}

FactTable* LayoutPage::makeTermTable(const QString& name, TextTable* rows, int formulaColumn) {
    auto* table = new FactTable(name, memory_);
    table->setModel(rows);
    table->setStretch(formulaColumn);
    table->setDropsColumns(true);
    table->setWholeHeight(true);
    memory_->body()->addWidget(table);
    connect(table->selectionModel(), &QItemSelectionModel::currentRowChanged, this, &LayoutPage::refreshTerm);
    return table;
}

void LayoutPage::setBaseline(bool kept) {
    const std::optional<MemoryEstimate>& memory = model_->lastGood().memory;
    baseline_.reset();
    if (kept && memory) baseline_ = MemoryBaseline{*memory, planSummary(model_->plan())};
    keep_->setChecked(baseline_.has_value());
    keep_->setText(baseline_ ? tr("Unpin the baseline") : tr("Pin as baseline"));
    keep_->setToolTip(baseline_ ? tr("Back to the memory as it is")
                                : tr("Keeps the memory as it is now; later edits show what each term gains or loses"));
    kept_->setVisible(baseline_.has_value());
    term_table_->setVisible(!baseline_);
    comparison_table_->setVisible(baseline_.has_value());
    refreshMemory();
}

void LayoutPage::makeLower(QVBoxLayout* column) {
    lower_ = new QHBoxLayout;
    lower_->setSpacing(12);
    activations_ = new Card(tr("Activations"), this);
    auto* table = new FactTable(tr("Activations by recomputation"), activations_);
    table->setModel(&recompute_);
    table->setStretch(0);
    table->setWholeHeight(true);
    activations_->body()->addWidget(table);
    activations_->body()->addStretch(1);
    lower_->addWidget(activations_, 2);
    connect(table, &QTableView::activated, this, [this](const QModelIndex& index) {
        model_->endEdit();
        model_->setText(QStringLiteral("layout.recompute"), index.data(TextTable::NameRole).toString());
        model_->endEdit();
    });

    auto* rules = new Card(tr("Rules of thumb"), this);
    rules->setFact(tr("common estimates beside the exact terms, all ranks together"));
    rules->body()->addWidget(new RulesView(model_, rules));
    rules->body()->addStretch(1);
    lower_->addWidget(rules, 3);
    column->addLayout(lower_);
}

void LayoutPage::resizeEvent(QResizeEvent* event) {
    Page::resizeEvent(event);
    lower_->setDirection(isNarrow() ? QBoxLayout::TopToBottom : QBoxLayout::LeftToRight);
    if ((event->size().width() < roomyTitle) != (event->oldSize().width() < roomyTitle)) refreshMemory();
}

void LayoutPage::refresh() {
    const Plan& plan = model_->plan();
    layout_->setFact(hardwareWords(plan));
    batch_->setText(batchWords(plan));
    refreshPipeline();
    refreshTime();
    refreshStages();
    refreshMemory();
    for (Card* card : {pipeline_, step_, memory_, activations_}) card->setStale(!model_->isGood());
    batch_->setVisible(model_->isGood());
}

QList<Card*> LayoutPage::staleCards() const {
    QList<Card*> stale;
    for (Card* card : {pipeline_, step_, memory_, activations_})
        if (card->isStale()) stale.append(card);
    return stale;
}

void LayoutPage::refreshPipeline() {
    if (!model_->lastGood().memory) {
        pipeline_->setFact({});
        gantt_->setEmptyText(
            tr("The plan is impossible as it stands: the sentence at the bottom says what to change."));
        gantt_->setPipeline(nullptr);
        return;
    }
    if (!model_->isGood()) return;
    const PlanNumbers& numbers = model_->numbers();
    pipeline_->setFact(pipelineWords(model_->plan(), numbers));
    gantt_->setEmptyText(noTimelineWords(model_->plan(), numbers));
    gantt_->setPipeline(numbers.pipeline);
}

void LayoutPage::refreshTime() {
    if (!model_->isGood()) return;
    const std::optional<StepReport>& step = model_->numbers().step;
    step_->setVisible(step.has_value());
    if (!step) return;
    step_->setFact(stepFact(*step));
    step_->setValue(secondsText(step->step));
    time_->setTime(step->time);
}

void LayoutPage::refreshStages() {
    const std::optional<MemoryEstimate>& memory = model_->lastGood().memory;
    const int count = memory ? static_cast<int>(memory->stages.size()) : 0;
    stage_->setVisible(count > 1);
    if (stage_->count() == count) return;
    const QSignalBlocker quiet(stage_);
    stage_->clear();
    for (int i = 0; i < count; ++i) stage_->addItem(stagesLabel(i, i, count));
    // The fullest stage decides whether the plan fits.
    for (int i = 0; i < count; ++i)
        if (&memory->stages[static_cast<std::size_t>(i)] == &memory->fullest()) stage_->setCurrentIndex(i);
}

void LayoutPage::refreshTerm() {
    const TextTable& shown = baseline_ ? comparison_ : terms_;
    const FactTable* table = baseline_ ? comparison_table_ : term_table_;
    const TextRow row = shown.rows().value(table->currentIndex().row());
    const QString formula = row.cells.value(baseline_ ? 4 : 2);
    if (formula.isEmpty())
        term_->setText(tr("Choose a term to read its whole formula and where it comes from."));
    else if (baseline_)
        term_->setText(QStringLiteral("%1: %2").arg(row.cells[0], formula));
    else
        term_->setText(QStringLiteral("%1: %2\n%3").arg(row.cells[0], formula, row.cells.value(3)));
}

void LayoutPage::refreshMemory() {
    const std::optional<MemoryEstimate>& memory = model_->lastGood().memory;
    if (!memory || memory->stages.empty()) {
        terms_.setRows({});
        comparison_.setRows({});
        term_->clear();
        recompute_.setRows({});
        for (Card* card : {memory_, activations_}) card->setFact({});
        memory_->setValue({});
        return;
    }
    const auto index = static_cast<std::size_t>(std::clamp(stage_->currentIndex(), 0, stage_->count() - 1));
    const RankMemory& stage = memory->stages[std::min(index, memory->stages.size() - 1)];
    terms_.setRows(termRows(stage));
    if (baseline_) {
        const RankMemory& before = baselineRank(*baseline_, index, memory->stages.size());
        comparison_.setRows(comparisonRows(before, stage));
        kept_->setText(
            tr("Before: %1, %2, %3")
                .arg(baseline_->name,
                     before.label == stage.label ? tr("the same ranks") : QString::fromStdString(before.label),
                     bytesText(before.total())));
    }
    refreshTerm();
    memory_->setFact(stageWords(stage));
    // In a narrow window the title has room for the stages or for the total, which the waterline says too.
    const bool room = !stage_->isVisibleTo(memory_) || viewport()->width() >= roomyTitle;
    memory_->setValue(room ? partOf(stage.total(), memory->usable) : QString());
    recompute_.setRows(recomputeRows(stage, model_->plan().layout.recompute));
    activations_->setFact(activationWords(stage));
}

}  // namespace plimsoll::ui
