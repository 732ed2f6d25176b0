// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/fact_table.h"

#include <QHeaderView>

namespace plimsoll::ui {

namespace {

constexpr int tableRowHeight = 27;

}  // namespace

FactTable::FactTable(const QString& name, QWidget* parent) : QTableView(parent) {
    setAccessibleName(name);
    setShowGrid(false);
    setWordWrap(false);
    setSelectionBehavior(QAbstractItemView::SelectRows);
    setSelectionMode(QAbstractItemView::SingleSelection);
    setEditTriggers(QAbstractItemView::NoEditTriggers);
    setTabKeyNavigation(false);
    setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
    setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    setFrameShape(QFrame::NoFrame);
    verticalHeader()->hide();
    verticalHeader()->setDefaultSectionSize(tableRowHeight);
    verticalHeader()->setMinimumSectionSize(tableRowHeight);
    horizontalHeader()->setHighlightSections(false);
    horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
    horizontalHeader()->setMinimumSectionSize(40);
    horizontalHeader()->setAccessibleName(name);
}

void FactTable::setModel(QAbstractItemModel* model) {
    QTableView::setModel(model);
    connect(model, &QAbstractItemModel::modelReset, this, [this] { updateGeometry(); });
}

void FactTable::setStretch(int column) { horizontalHeader()->setSectionResizeMode(column, QHeaderView::Stretch); }

void FactTable::setColumnLimit(int column, int width) {
    horizontalHeader()->setSectionResizeMode(column, QHeaderView::Interactive);
    horizontalHeader()->resizeSection(column, width);
}

void FactTable::setWholeHeight(bool whole) {
    whole_ = whole;
    setVerticalScrollBarPolicy(whole ? Qt::ScrollBarAlwaysOff : Qt::ScrollBarAsNeeded);
    setSizePolicy(QSizePolicy::Expanding, whole ? QSizePolicy::Fixed : QSizePolicy::Expanding);
}

QSize FactTable::sizeHint() const {
    if (!whole_ || !model()) return QTableView::sizeHint();
    const int header = horizontalHeader()->isHidden() ? 0 : horizontalHeader()->sizeHint().height();
    return {QTableView::sizeHint().width(), header + model()->rowCount() * tableRowHeight + 2};
}

QSize FactTable::minimumSizeHint() const {
    return whole_ ? QSize(120, sizeHint().height()) : QTableView::minimumSizeHint();
}

}  // namespace plimsoll::ui
