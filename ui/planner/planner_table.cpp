// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/planner/planner_table.h"

#include <algorithm>
#include <QClipboard>
#include <QGuiApplication>
#include <QHeaderView>
#include <QKeyEvent>
#include <QRegularExpression>
#include <QVBoxLayout>

#include "ui/common/separated_text.h"
#include "ui/widgets/share_delegate.h"

namespace plimsoll::ui {

namespace {

constexpr int tableHeight = 262;  // nine rows; the plot under it stays in sight
constexpr int mostCompared = 2;
constexpr int leastWords = 480;  // pixels for a layout in words

}  // namespace

PlannerTable::PlannerTable(QWidget* parent)
    : QWidget(parent), filter_(new QLineEdit(this)), table_(new FactTable(tr("Best layouts"), this)) {
    sorted_.setSourceModel(&model_);
    sorted_.setSortRole(CandidateTable::SortRole);
    sorted_.setFilterRole(CandidateTable::FilterRole);
    sorted_.setFilterKeyColumn(CandidateTable::Words);
    sorted_.setFilterCaseSensitivity(Qt::CaseInsensitive);
    filter_->setPlaceholderText(tr("Filter: tp 8, zero-1, front"));
    filter_->setAccessibleName(tr("Filter the layouts"));
    filter_->setClearButtonEnabled(true);
    table_->setModel(&sorted_);
    table_->setSelectionMode(QAbstractItemView::ExtendedSelection);
    table_->setStretch(CandidateTable::Words, leastWords);
    table_->setItemDelegateForColumn(CandidateTable::Peak, new ShareDelegate(CandidateTable::ShareRole, table_));
    table_->setDropsColumns(true);
    table_->setSortingEnabled(true);
    table_->horizontalHeader()->setSortIndicator(-1, Qt::AscendingOrder);
    table_->horizontalHeader()->setSortIndicatorClearable(true);
    table_->setFixedHeight(tableHeight);
    table_->installEventFilter(this);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(6);
    column->addWidget(table_);
    connect(filter_, &QLineEdit::textChanged, this, &PlannerTable::setFilter);
    connect(table_->selectionModel(), &QItemSelectionModel::selectionChanged, this, &PlannerTable::follow);
    connect(table_, &QTableView::doubleClicked, this,
            [this](const QModelIndex& index) { emit useRequested(sorted_.mapToSource(index).row()); });
}

void PlannerTable::setFilter(const QString& text) {
    // Every word must occur, in any order; layouts are written with commas.
    QString pattern;
    for (const QString& word :
         QString(text).replace(QLatin1Char(','), QLatin1String("  ")).split(QStringLiteral("  "), Qt::SkipEmptyParts))
        pattern += QStringLiteral("(?=.*%1)").arg(QRegularExpression::escape(word.simplified()));
    sorted_.setFilterRegularExpression(QRegularExpression(pattern, QRegularExpression::CaseInsensitiveOption));
}

void PlannerTable::showColumns(const PlannerAnswer* answer) {
    const std::vector<CandidateRow>& rows = model_.rows();
    const bool sameGpus = std::all_of(rows.begin(), rows.end(), [&rows](const CandidateRow& row) {
        return row.candidate.gpus() == rows.front().candidate.gpus();
    });
    table_->setUnused(CandidateTable::Gpus, sameGpus);
    const bool nothingOffloaded =
        std::all_of(rows.begin(), rows.end(), [](const CandidateRow& row) { return row.candidate.host == 0; });
    table_->setUnused(CandidateTable::Host, nothingOffloaded);
    table_->setUnused(CandidateTable::Price, !answer || answer->request.price_per_gpu_hour <= 0);
}

void PlannerTable::setAnswer(const PlannerAnswer* answer, const Plan& present) {
    std::vector<Candidate> kept;
    for (const int row : std::as_const(selected_)) kept.push_back(rows()[static_cast<std::size_t>(row)].candidate);
    restoring_ = true;
    model_.setAnswer(answer, present);
    showColumns(answer);
    QList<int> found;
    if (picked_)
        for (const Candidate& candidate : kept)
            if (const int row = model_.rowOf(candidate); row >= 0) found.append(row);
    if (found.isEmpty()) {
        picked_ = false;
        if (!rows().empty()) found.append(0);
    }
    if (found != selected_ || !table_->selectionModel()->hasSelection()) {
        table_->clearSelection();
        for (auto row = found.crbegin(); row != found.crend(); ++row)
            table_->selectionModel()->select(shown(*row), QItemSelectionModel::Select | QItemSelectionModel::Rows);
        if (!found.isEmpty()) table_->selectionModel()->setCurrentIndex(shown(found[0]), QItemSelectionModel::NoUpdate);
    }
    selected_ = found;
    restoring_ = false;
    emit selectionChanged();
}

void PlannerTable::follow() {
    if (restoring_) return;
    QList<int> now;
    for (const QModelIndex& index : table_->selectionModel()->selectedRows())
        now.append(sorted_.mapToSource(index).row());
    // The newest selection first, then the older ones.
    QList<int> next;
    for (const int row : std::as_const(now))
        if (!selected_.contains(row)) next.prepend(row);
    for (const int row : std::as_const(selected_))
        if (now.contains(row)) next.append(row);
    selected_ = next.mid(0, mostCompared);
    picked_ = !selected_.isEmpty();
    emit selectionChanged();
}

void PlannerTable::select(int row) {
    const QModelIndex index = shown(row);
    if (!index.isValid()) return;
    table_->selectRow(index.row());
    table_->scrollTo(index);
}

void PlannerTable::copy() const {
    std::vector<int> rows;
    const QModelIndexList chosen = table_->selectionModel()->selectedRows();
    if (chosen.size() > 1)
        for (const QModelIndex& index : chosen) rows.push_back(sorted_.mapToSource(index).row());
    else
        for (int row = 0; row < sorted_.rowCount(); ++row)
            rows.push_back(sorted_.mapToSource(sorted_.index(row, 0)).row());
    TableText table(QLatin1Char('\t'));
    model_.writeTable(rows, table);
    QGuiApplication::clipboard()->setText(table.text());
}

bool PlannerTable::eventFilter(QObject* watched, QEvent* event) {
    if (watched == table_ && event->type() == QEvent::KeyPress) {
        auto* key = static_cast<QKeyEvent*>(event);
        if (key->matches(QKeySequence::Copy)) {
            copy();
            return true;
        }
        const bool enter = key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter;
        if (enter && key->modifiers() == Qt::NoModifier && !selected_.isEmpty()) {
            emit useRequested(selected_[0]);
            return true;
        }
    }
    return QWidget::eventFilter(watched, event);
}

}  // namespace plimsoll::ui
