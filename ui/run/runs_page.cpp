// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/run/runs_page.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QLineEdit>
#include <QMessageBox>
#include <QPushButton>
#include <QSortFilterProxyModel>
#include <QVBoxLayout>

#include "core/run/run_trash.h"
#include "ui/common/escaped_text.h"
#include "ui/common/value_format.h"
#include "ui/run/checkpoint_card.h"
#include "ui/run/resumable.h"
#include "ui/run/run_controls.h"
#include "ui/run/run_list_model.h"
#include "ui/run/run_model.h"
#include "ui/run/run_notes_card.h"
#include "ui/widgets/fact_table.h"
#include "ui/widgets/plain_label.h"

namespace plimsoll::ui {

RunsPage::RunsPage(RunListModel* runs, RunModel* run, QWidget* parent)
    : QWidget(parent),
      runs_(runs),
      run_(run),
      sorted_(new QSortFilterProxyModel(this)),
      table_(new FactTable(tr("Runs"), this)),
      search_(new QLineEdit(this)),
      count_(new PlainLabel(this)),
      watch_(new QPushButton(tr("Watch"), this)),
      resume_(new QPushButton(tr("Resume"), this)),
      more_(new QPushButton(tr("More steps…"), this)),
      delete_(new QPushButton(tr("Delete"), this)),
      trash_(new QPushButton(this)),
      notes_(new RunNotesCard(this)),
      checkpoints_(new CheckpointCard(this)) {
    build();
    connect(search_, &QLineEdit::textChanged, sorted_, &QSortFilterProxyModel::setFilterFixedString);
    connect(search_, &QLineEdit::textChanged, this, &RunsPage::refresh);
    connect(table_->selectionModel(), &QItemSelectionModel::selectionChanged, this, &RunsPage::refresh);
    connect(table_, &QTableView::activated, this, [this] { emit watchRequested(chosen()); });
    connect(watch_, &QPushButton::clicked, this, [this] { emit watchRequested(chosen()); });
    connect(resume_, &QPushButton::clicked, this, [this] { emit resumeRequested(chosen()); });
    connect(more_, &QPushButton::clicked, this, [this] { emit moreStepsRequested(chosen()); });
    connect(delete_, &QPushButton::clicked, this, &RunsPage::deleteChosen);
    connect(trash_, &QPushButton::clicked, this, &RunsPage::emptyTrash);
    connect(runs_, &RunListModel::refreshed, this, [this] {
        if (chosen().isEmpty() && sorted_->rowCount() > 0) table_->selectRow(0);
        refresh();
    });
    connect(run_, &RunModel::statusChanged, this, &RunsPage::refresh);
    connect(notes_, &RunNotesCard::saved, runs_, &RunListModel::refresh);
    connect(notes_, &RunNotesCard::failed, this, &RunsPage::failed);
    connect(checkpoints_, &CheckpointCard::forkRequested, this, &RunsPage::forkRequested);
    connect(checkpoints_, &CheckpointCard::done, this, &RunsPage::done);
    connect(checkpoints_, &CheckpointCard::failed, this, &RunsPage::failed);
    refresh();
}

void RunsPage::build() {
    setObjectName(QStringLiteral("Page"));
    setAttribute(Qt::WA_StyledBackground);
    setAccessibleName(tr("Runs"));
    sorted_->setSourceModel(runs_);
    sorted_->setSortRole(RunListModel::SortRole);
    sorted_->setFilterCaseSensitivity(Qt::CaseInsensitive);
    sorted_->setFilterKeyColumn(-1);
    search_->setPlaceholderText(tr("Find a run"));
    search_->setAccessibleName(tr("Find a run"));
    search_->setClearButtonEnabled(true);
    search_->setMaximumWidth(300);
    count_->setProperty("tone", "muted");
    watch_->setToolTip(tr("Shows the run's curves, events and logs (double click)"));
    more_->setToolTip(tr("Continue with more steps than planned: asks how the learning rate goes on"));
    delete_->setToolTip(tr("Moves the run to the trash of the store; it can be brought back"));
    trash_->setProperty("link", true);
    trash_->setToolTip(tr("Removes the deleted runs for good and frees their disk space"));
    for (QPushButton* button : {watch_, resume_, more_, delete_}) button->setAccessibleName(button->text());
    trash_->setAccessibleName(tr("Empty the trash"));

    table_->setModel(sorted_);
    table_->setDropsColumns(true);
    table_->horizontalHeader()->setMinimumSectionSize(56);
    table_->setStretch(RunListModel::Name, 220);
    table_->setColumnLimit(RunListModel::Changes, 260);
    table_->setColumnLimit(RunListModel::PlanName, 210);
    table_->setColumnLimit(RunListModel::Tags, 120);
    table_->setSortingEnabled(true);
    table_->horizontalHeader()->setSortIndicator(-1, Qt::AscendingOrder);
    table_->horizontalHeader()->setSortIndicatorClearable(true);

    auto* head = new QHBoxLayout;
    head->setSpacing(8);
    head->addWidget(search_, 1);
    head->addWidget(count_);
    head->addStretch(1);
    head->addWidget(trash_);
    head->addWidget(watch_);
    head->addWidget(resume_);
    head->addWidget(more_);
    head->addWidget(delete_);
    auto* lower = new QHBoxLayout;
    lower->setSpacing(12);
    lower->addWidget(notes_, 2);
    lower->addWidget(checkpoints_, 3);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(16, 10, 16, 14);
    column->setSpacing(10);
    column->addLayout(head);
    column->addWidget(table_, 3);
    column->addLayout(lower, 2);
}

QString RunsPage::chosen() const {
    const QModelIndexList rows = table_->selectionModel()->selectedRows();
    return rows.isEmpty() ? QString() : rows.first().data(RunListModel::PathRole).toString();
}

void RunsPage::choose(const QString& runPath) {
    for (int row = 0; row < sorted_->rowCount(); ++row)
        if (sorted_->index(row, 0).data(RunListModel::PathRole).toString() == runPath) table_->selectRow(row);
}

void RunsPage::refresh() {
    const int all = runs_->rowCount(), shown = sorted_->rowCount();
    count_->setText(!runs_->isRead() ? QString()
                    : shown < all    ? tr("%1 of %2 runs").arg(countText(shown), countText(all))
                    : all == 1       ? tr("1 run")
                    : all == 0       ? tr("No run yet: Train starts one")
                                     : tr("%1 runs").arg(countText(all)));
    const QString path = chosen();
    const RunSummary* run = runs_->run(path);
    const bool free = !isUnderWay(*run_);
    watch_->setEnabled(run != nullptr);
    resume_->setEnabled(run && free && canResume(*run));
    resume_->setToolTip(plainTip(!run ? QString() : free ? whyResumable(*run) : tr("Another run is under way")));
    more_->setEnabled(run && free && canExtend(*run));
    delete_->setEnabled(run && !run->live);
    notes_->open(path);
    if (checkpoints_->model()->runPath() != path) checkpoints_->open(path);
}

void RunsPage::refreshTrash() {
    const Trash trash = count_trash(runs_->store());
    trash_->setVisible(trash.runs > 0);
    trash_->setText(trash.runs == 1
                        ? tr("Empty the trash (1 run, %1)").arg(bytesText(trash.bytes))
                        : tr("Empty the trash (%1 runs, %2)")
                              .arg(countText(static_cast<std::int64_t>(trash.runs)), bytesText(trash.bytes)));
}

void RunsPage::deleteChosen() {
    const RunSummary* run = runs_->run(chosen());
    if (!run) return;
    const QString title = QString::fromStdString(run->title()), path = chosen();
    Result<std::filesystem::path> place = put_in_trash(RunFolder(run->path));
    if (!place) {
        emit failed(QString::fromStdString(place.error().message));
        return;
    }
    trashed_ = *std::move(place);
    if (run_->runPath() == path) run_->close();
    runs_->refresh();
    refreshTrash();
    emit deleted(tr("%1 was moved to the trash.").arg(title));
}

void RunsPage::undoDelete() {
    if (trashed_.empty()) return;
    const Result<std::filesystem::path> place = put_back(trashed_);
    trashed_.clear();
    if (!place) emit failed(QString::fromStdString(place.error().message));
    runs_->refresh();
    refreshTrash();
}

void RunsPage::emptyTrash() {
    const Trash trash = count_trash(runs_->store());
    const auto answer =
        QMessageBox::question(this, tr("Empty the trash"),
                              tr("Remove %1 deleted runs and free %2? This cannot be undone.")
                                  .arg(countText(static_cast<std::int64_t>(trash.runs)), bytesText(trash.bytes)),
                              QMessageBox::Yes | QMessageBox::Cancel, QMessageBox::Cancel);
    if (answer != QMessageBox::Yes) return;
    trashed_.clear();
    if (const Result<void> emptied = empty_trash(runs_->store()); !emptied)
        emit failed(QString::fromStdString(emptied.error().message));
    refreshTrash();
}

void RunsPage::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    runs_->refresh();
    refreshTrash();
    if (!run_->runPath().isEmpty()) choose(run_->runPath());
    checkpoints_->model()->refresh();
}

}  // namespace plimsoll::ui
