// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plan/choice_table.h"

#include <QHeaderView>
#include <QVBoxLayout>

namespace plimsoll::ui {

ChoiceTable::ChoiceTable(const QString& name, const QString& searchHint, TextTable* rows, QWidget* parent)
    : QWidget(parent),
      sorted_(new QSortFilterProxyModel(this)),
      search_(new QLineEdit(this)),
      table_(new FactTable(name, this)) {
    sorted_->setSourceModel(rows);
    sorted_->setSortRole(TextTable::SortRole);
    sorted_->setFilterCaseSensitivity(Qt::CaseInsensitive);
    sorted_->setFilterKeyColumn(-1);
    search_->setPlaceholderText(searchHint);
    search_->setAccessibleName(searchHint);
    search_->setClearButtonEnabled(true);
    table_->setModel(sorted_);
    // Columns are as wide as their contents, without room for a sort arrow that is rarely shown.
    table_->horizontalHeader()->setSectionResizeMode(QHeaderView::Interactive);
    table_->resizeColumnsToContents();
    for (int column = 1; column < rows->columnCount(); ++column)
        table_->setColumnLimit(column, table_->columnWidth(column));
    table_->setStretch(0);
    table_->setDropsColumns(true);
    table_->setSortingEnabled(true);
    table_->horizontalHeader()->setSortIndicator(-1, Qt::AscendingOrder);
    table_->horizontalHeader()->setSortIndicatorClearable(true);

    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(6);
    column->addWidget(search_);
    column->addWidget(table_, 1);

    connect(search_, &QLineEdit::textChanged, this,
            [this](const QString& text) { sorted_->setFilterFixedString(text); });
    connect(search_, &QLineEdit::returnPressed, this, [this] {
        if (sorted_->rowCount() > 0) choose(sorted_->index(0, 0));
    });
    // Neither a filter nor the arrow keys choose: the highlight stays with the row that is in the plan.
    connect(table_->selectionModel(), &QItemSelectionModel::selectionChanged, this, &ChoiceTable::markChosen);
    connect(sorted_, &QAbstractItemModel::rowsInserted, this, &ChoiceTable::markChosen);
    connect(table_, &QTableView::clicked, this, &ChoiceTable::choose);
    connect(table_, &QTableView::activated, this, &ChoiceTable::choose);
}

void ChoiceTable::choose(const QModelIndex& index) {
    const QString name = index.data(TextTable::NameRole).toString();
    if (!name.isEmpty()) emit chosen(name);
}

void ChoiceTable::setCurrent(const QString& name) {
    const bool other = name != chosen_;
    chosen_ = name;
    markChosen();
    const QModelIndexList rows = table_->selectionModel()->selectedRows();
    if (!other || rows.isEmpty()) return;
    table_->selectionModel()->setCurrentIndex(rows.first(), QItemSelectionModel::NoUpdate);
    table_->scrollTo(rows.first());
}

void ChoiceTable::markChosen() {
    if (marking_) return;
    marking_ = true;
    int found = -1;
    for (int row = 0; row < sorted_->rowCount() && found < 0; ++row)
        if (sorted_->index(row, 0).data(TextTable::NameRole).toString() == chosen_) found = row;
    if (found < 0)
        table_->selectionModel()->clearSelection();
    else
        table_->selectionModel()->select(sorted_->index(found, 0),
                                         QItemSelectionModel::ClearAndSelect | QItemSelectionModel::Rows);
    marking_ = false;
}

}  // namespace plimsoll::ui
