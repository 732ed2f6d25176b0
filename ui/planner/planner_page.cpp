// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/planner/planner_page.h"

#include <QLineEdit>
#include <QPushButton>
#include <QStyle>

#include "core/planner/layout_text.h"
#include "ui/common/plan_field.h"
#include "ui/plan/plan_model.h"
#include "ui/planner/planner_details.h"
#include "ui/planner/planner_form.h"
#include "ui/planner/planner_table.h"
#include "ui/plots/pareto_plot.h"
#include "ui/waterline/waterline_data.h"
#include "ui/widgets/card.h"
#include "ui/widgets/link_delegate.h"
#include "ui/widgets/wrap_label.h"

namespace plimsoll::ui {

namespace {

constexpr int applyColumn = 2;  // the column "apply" of the relaxations

ParetoPoint pointOf(const Candidate& candidate) {
    return {QString::fromStdString(layout_words(candidate.layout)), candidate.step, candidate.peak, candidate.gpus(),
            candidate.on_front};
}

std::optional<ParetoPoint> pointOf(const LayoutFigures& present) {
    if (!present.step || !present.memory) return std::nullopt;
    return ParetoPoint{PlannerPage::tr("The plan: %1").arg(QString::fromStdString(layout_words(present.plan.layout))),
                       present.step->step, present.memory->fullest().total(), present.plan.cluster.world_size(), false};
}

void setTone(QWidget* widget, const char* tone) {
    widget->setProperty("tone", tone);
    widget->style()->unpolish(widget);
    widget->style()->polish(widget);
}

}  // namespace

PlannerPage::PlannerPage(PlanModel* plan, QWidget* parent)
    : Page(tr("Planner"), parent),
      plan_(plan),
      model_(plan),
      pair_(sideBySideHeaders(tr("First"), tr("Second")), {1, 2, 3}),
      neighbours_(neighbourHeaders(), {}),
      recommendations_(recommendationHeaders(), {}),
      relaxations_(relaxationHeaders(), {}) {
    form_ = new PlannerForm(&model_, this);
    QVBoxLayout* left = addColumn(0, 268);
    left->addWidget(form_);
    left->addStretch(1);
    QVBoxLayout* right = addColumn(1);
    makeBest(right);
    makeMiddle(right);
    makePair(right);
    makeLower(right);
    right->addStretch(1);
    connect(&model_, &PlannerModel::changed, this, &PlannerPage::refresh);
    refresh();
}

FactTable* PlannerPage::addTable(const QString& name, TextTable* rows, int stretch, Card* card) {
    auto* table = new FactTable(name, card);
    table->setModel(rows);
    table->setStretch(stretch);
    table->setWholeHeight(true);
    card->body()->addWidget(table);
    return table;
}

void PlannerPage::makeBest(QVBoxLayout* column) {
    best_ = new Card(tr("Best layouts"), this);
    table_ = new PlannerTable(best_);
    table_->filter()->setFixedWidth(190);
    auto* copy = new QPushButton(tr("Copy"), best_);
    copy->setProperty("link", true);
    copy->setAccessibleName(tr("Copy the layouts as text"));
    copy->setToolTip(tr("The rows that are shown, or those that are selected, with tabs between the cells (Ctrl+C)"));
    connect(copy, &QPushButton::clicked, table_, &PlannerTable::copy);
    best_->addToTitle(table_->filter());
    best_->addToTitle(copy);
    state_ = new WrapLabel(best_);
    state_->setAccessibleName(tr("State of the search"));
    notes_ = new WrapLabel(best_);
    notes_->setProperty("tone", "muted");
    best_->body()->addWidget(state_);
    best_->body()->addWidget(table_);
    relaxation_table_ = addTable(tr("Relax a constraint"), &relaxations_, 1, best_);
    relaxation_table_->setColumnLimit(0, 300);
    relaxation_table_->setColumnLimit(applyColumn, 60);
    relaxation_table_->setItemDelegateForColumn(applyColumn, new LinkDelegate(relaxation_table_));
    relaxation_table_->setMouseTracking(true);
    best_->body()->addWidget(notes_);
    column->addWidget(best_);
    const auto relax = [this](const QModelIndex& index) {
        const auto row = static_cast<std::size_t>(index.row());
        if (shown_ && row < shown_->result.relaxations.size()) {
            const Relaxation chosen = shown_->result.relaxations[row];
            model_.apply(chosen);
        }
    };
    connect(relaxation_table_, &QTableView::clicked, this, [relax](const QModelIndex& index) {
        if (index.column() == applyColumn) relax(index);
    });
    connect(relaxation_table_, &QTableView::activated, this, relax);
    connect(table_, &PlannerTable::selectionChanged, this, &PlannerPage::refreshSelection);
    connect(table_, &PlannerTable::useRequested, this, &PlannerPage::use);
}

void PlannerPage::makeMiddle(QVBoxLayout* column) {
    middle_ = new QHBoxLayout;
    middle_->setSpacing(12);
    plot_card_ = new Card(tr("Memory vs step time"), this);
    plot_card_->setFact(tr("Pareto front connected"));
    plot_ = new ParetoPlot(plot_card_);
    plot_card_->body()->addWidget(plot_);
    details_ = new PlannerDetails(this);
    middle_->addWidget(plot_card_, 1);
    middle_->addWidget(details_, 1);
    column->addLayout(middle_);
    connect(plot_, &ParetoPlot::chosen, table_, &PlannerTable::select);
    connect(details_, &PlannerDetails::useRequested, this, [this] {
        if (!table_->selected().isEmpty()) use(table_->selected().constFirst());
    });
}

void PlannerPage::makePair(QVBoxLayout* column) {
    pair_card_ = new Card(tr("Side by side"), this);
    pair_table_ = addTable(tr("Two layouts side by side"), &pair_, 0, pair_card_);
    column->addWidget(pair_card_);
}

void PlannerPage::makeLower(QVBoxLayout* column) {
    auto* lower = new QVBoxLayout;
    lower->setSpacing(12);
    neighbour_card_ = new Card(tr("Why not?"), this);
    neighbour_card_->setFact(tr("one change away from the best"));
    neighbour_table_ = addTable(tr("Neighbours of the best layout"), &neighbours_, 1, neighbour_card_);
    recommendation_card_ = new Card(tr("Common advice"), this);
    recommendation_card_->setFact(tr("beside what was found"));
    recommendation_table_ = addTable(tr("Recommendations"), &recommendations_, 2, recommendation_card_);
    recommendation_table_->setColumnLimit(0, 300);
    lower->addWidget(neighbour_card_);
    lower->addWidget(recommendation_card_);
    column->addLayout(lower);
}

void PlannerPage::use(int row) {
    if (row < 0 || static_cast<std::size_t>(row) >= table_->rows().size()) return;
    // A copy, because applying changes the rows.
    const Candidate chosen = table_->rows()[static_cast<std::size_t>(row)].candidate;
    model_.apply(chosen);
}

QString PlannerPage::counts() const { return state_->text(); }

void PlannerPage::resizeEvent(QResizeEvent* event) {
    Page::resizeEvent(event);
    middle_->setDirection(isNarrow() ? QBoxLayout::TopToBottom : QBoxLayout::LeftToRight);
}

void PlannerPage::showEvent(QShowEvent* event) {
    Page::showEvent(event);
    model_.setActive(true);
    refresh();
}

void PlannerPage::hideEvent(QHideEvent* event) {
    Page::hideEvent(event);
    model_.setActive(false);
}

void PlannerPage::refresh() {
    if (!isVisible()) return;
    shown_ = model_.answer();
    present_ = figuresOfPlan(plan_->plan(), plan_->framework());
    refreshState();
    table_->setAnswer(shown_.get(), plan_->plan());
    refreshPlot();
    refreshLists();
}

void PlannerPage::refreshState() {
    const bool found = shown_ && !shown_->result.ranked.empty();
    const bool nothing = shown_ && !found && shown_->ended;
    QString words;
    if (model_.isStale())
        words = tr("Searching; what is shown is of the question before …");
    else if (!model_.problem().isEmpty())
        words = model_.problem();
    else if (nothing)
        words = tr("No layout fits. Limiting constraint: %1").arg(inWords(shown_->result.binding));
    else if (shown_)
        words = countsWords(shown_->result.counts);
    else
        words = tr("Searching …");
    state_->setText(shown_ && !shown_->ended && !model_.isStale() ? tr("%1 so far").arg(words) : words);
    setTone(state_, !model_.problem().isEmpty() || (nothing && !model_.isStale()) ? "bad" : "muted");
    table_->setVisible(!nothing);
    plot_card_->setVisible(!nothing);
    details_->setVisible(!nothing);
    relaxation_table_->setVisible(nothing);
    details_->setStale(model_.isStale());
    QStringList notes;
    if (shown_ && shown_->request.framework != Framework::Plimsoll)
        notes << tr("Memory under %1, whose own limits are kept; step times are Plimsoll's estimate.")
                     .arg(frameworkTitle(shown_->request.framework));
    if (shown_)
        for (const std::string& note : shown_->result.notes) notes << inWords(note);
    notes_->setText(notes.join(QLatin1Char('\n')));
    notes_->setVisible(!notes.isEmpty());
}

void PlannerPage::refreshPlot() {
    std::vector<ParetoPoint> points;
    for (const CandidateRow& row : table_->rows()) points.push_back(pointOf(row.candidate));
    plot_->setEmptyText(shown_ && shown_->ended ? tr("No layout fits.") : model_.problem());
    plot_->setPoints(std::move(points), pointOf(present_), shown_ ? shown_->usable : 0);
    plot_->setStale(model_.isStale());
}

void PlannerPage::refreshSelection() {
    const QList<int> chosen = table_->selected();
    std::vector<LayoutFigures> figures;
    for (const int row : chosen)
        figures.push_back(figuresOfPlan(model_.planWith(table_->rows()[static_cast<std::size_t>(row)].candidate),
                                        plan_->framework()));
    details_->setLayoutShown(figures.empty() ? nullptr : &figures[0], present_, model_.request());
    plot_->setCurrent(chosen.isEmpty() ? -1 : chosen[0]);
    pair_card_->setVisible(figures.size() > 1);
    if (figures.size() < 2) return;
    // The layout selected first stands at the left.
    pair_.setRows(sideBySideRows(figures[1], figures[0]));
    const auto name = [this, &chosen](int at) {
        const int rank = table_->rows()[static_cast<std::size_t>(chosen[at])].rank;
        return rank > 0 ? tr("#%1").arg(rank) : tr("on the front");
    };
    pair_card_->setFact(tr("%1 beside %2; the difference is what the second takes more").arg(name(1), name(0)));
}

void PlannerPage::refreshLists() {
    neighbours_.setRows(shown_ ? neighbourRows(shown_->neighbours) : QList<TextRow>());
    recommendations_.setRows(shown_ ? recommendationRows(shown_->recommendations) : QList<TextRow>());
    relaxations_.setRows(shown_ ? relaxationRows(shown_->result.relaxations) : QList<TextRow>());
    neighbour_card_->setVisible(!neighbours_.rows().isEmpty());
    recommendation_card_->setVisible(!recommendations_.rows().isEmpty());
}

}  // namespace plimsoll::ui
