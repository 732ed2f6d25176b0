// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/fact_table.h"

#include <algorithm>
#include <QHeaderView>
#include <QResizeEvent>

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
    connect(model, &QAbstractItemModel::modelReset, this, [this] {
        updateGeometry();
        dropColumns();
    });
}

void FactTable::setStretch(int column, int least) {
    stretch_ = column;
    least_stretch_ = least;
    horizontalHeader()->setSectionResizeMode(column, QHeaderView::Stretch);
}

void FactTable::setColumnLimit(int column, int width) {
    horizontalHeader()->setSectionResizeMode(column, QHeaderView::Interactive);
    horizontalHeader()->resizeSection(column, width);
    limits_.insert(column, width);
}

void FactTable::setWholeHeight(bool whole) {
    whole_ = whole;
    setVerticalScrollBarPolicy(whole ? Qt::ScrollBarAlwaysOff : Qt::ScrollBarAsNeeded);
    setSizePolicy(QSizePolicy::Expanding, whole ? QSizePolicy::Fixed : QSizePolicy::Expanding);
}

void FactTable::setUnused(int column, bool unused) {
    if (unused == unused_.contains(column)) return;
    if (unused)
        unused_.insert(column);
    else
        unused_.remove(column);
    setColumnHidden(column, unused);
    dropColumns();
}

int FactTable::neededWidth(int column) const {
    const int wide = std::max(sizeHintForColumn(column), horizontalHeader()->sectionSizeHint(column));
    if (column == stretch_ && model()->rowCount() == 0) return std::max(wide, least_stretch_);
    return std::min(wide, limits_.value(column, column == stretch_ ? least_stretch_ : wide));
}

void FactTable::dropColumns() {
    if (!drops_ || !model()) return;
    const int count = model()->columnCount();
    int needed = 0;
    for (int column = 0; column < count; ++column)
        if (!unused_.contains(column)) needed += neededWidth(column);
    // Two columns are the least that a table says anything with.
    for (int column = count - 1; column >= 0; --column) {
        if (unused_.contains(column)) continue;
        const bool goes = column > 1 && column != stretch_ && needed > viewport()->width();
        if (goes) needed -= neededWidth(column);
        if (isColumnHidden(column) != goes) setColumnHidden(column, goes);
    }
}

void FactTable::resizeEvent(QResizeEvent* event) {
    QTableView::resizeEvent(event);
    if (event->size().width() != event->oldSize().width()) dropColumns();
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
