// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/pipeline/schedule_table.h"

#include <algorithm>
#include <QHeaderView>
#include <QVBoxLayout>

#include "ui/common/plan_field.h"
#include "ui/widgets/wrap_label.h"

namespace plimsoll::ui {

ScheduleTable::ScheduleTable(QWidget* parent)
    : QWidget(parent),
      rows_(scheduleHeaders(), {1, 2, 3, 4}),
      table_(new FactTable(tr("Every schedule"), this)),
      problems_(new WrapLabel(this)) {
    sorted_.setSourceModel(&rows_);
    sorted_.setSortRole(TextTable::SortRole);
    table_->setModel(&sorted_);
    table_->setStretch(0);
    table_->setWholeHeight(true);
    table_->setDropsColumns(true);
    table_->setSortingEnabled(true);
    table_->horizontalHeader()->setSortIndicator(-1, Qt::AscendingOrder);
    table_->horizontalHeader()->setSortIndicatorClearable(true);
    problems_->setProperty("tone", "muted");
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(6);
    column->addWidget(table_);
    column->addWidget(problems_);
    column->addStretch(1);
    connect(table_, &QTableView::clicked, this, &ScheduleTable::choose);
    connect(table_, &QTableView::activated, this, &ScheduleTable::choose);
}

void ScheduleTable::setRows(const std::vector<Alternative>& rows, Schedule shown) {
    shown_ = rows;
    rows_.setRows(scheduleTextRows(rows, shown));
    QStringList problems;
    for (const Alternative& row : rows)
        if (!row.possible && !problems.contains(inWords(row.reason))) problems << inWords(row.reason);
    problems_->setText(problems.join(QLatin1Char('\n')));
    problems_->setVisible(!problems.isEmpty());
}

void ScheduleTable::choose(const QModelIndex& index) {
    const int at = sorted_.mapToSource(index).row();
    if (at < 0 || static_cast<std::size_t>(at) >= shown_.size()) return;
    const Alternative& row = shown_[static_cast<std::size_t>(at)];
    if (row.possible) emit chosen(row.kind);
}

}  // namespace plimsoll::ui
