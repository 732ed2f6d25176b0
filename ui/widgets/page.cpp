// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/page.h"

#include "ui/widgets/field_row.h"

namespace plimsoll::ui {

namespace {

constexpr int threeColumns = 1000;  // from this width on three columns stand side by side

}  // namespace

Page::Page(const QString& name, QWidget* parent) : QScrollArea(parent) {
    setObjectName(QStringLiteral("Page"));
    setAccessibleName(name);
    setWidgetResizable(true);
    setFrameShape(QFrame::NoFrame);
    // The content is reached by Tab; the frame around it holds nothing to act on.
    setFocusPolicy(Qt::NoFocus);
    auto* body = new QWidget(this);
    body->setObjectName(QStringLiteral("PageBody"));
    columns_ = new QHBoxLayout(body);
    columns_->setContentsMargins(16, 14, 16, 14);
    columns_->setSpacing(12);
    setWidget(body);
}

QVBoxLayout* Page::addColumn(int stretch, int width) {
    auto* holder = new QWidget(widget());
    auto* column = new QVBoxLayout(holder);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(12);
    if (width > 0) holder->setFixedWidth(width);
    columns_->addWidget(holder, stretch);
    all_.append({holder, column, stretch});
    return column;
}

bool Page::isNarrow() const { return viewport()->width() < threeColumns; }

void Page::resizeEvent(QResizeEvent* event) {
    QScrollArea::resizeEvent(event);
    fold(all_.size() > 2 && isNarrow());
}

void Page::fold(bool folded) {
    if (folded == folded_) return;
    folded_ = folded;
    const Column& third = all_[2];
    QVBoxLayout* first = all_[0].layout;
    if (!folded) {
        first->removeWidget(third.holder);
        columns_->addWidget(third.holder, third.stretch);
        return;
    }
    columns_->removeWidget(third.holder);
    // Inserted above the stretch at the column's end.
    const bool room = first->count() > 0 && first->itemAt(first->count() - 1)->spacerItem();
    first->insertWidget(first->count() - (room ? 1 : 0), third.holder);
}

FieldRow* Page::rowOf(const QString& key) const {
    for (FieldRow* row : findChildren<FieldRow*>())
        if (row->key() == key) return row;
    return nullptr;
}

bool Page::hasField(const QString& key) const { return rowOf(key) != nullptr; }

bool Page::focusField(const QString& key) {
    FieldRow* row = rowOf(key);
    if (!row) return false;
    ensureWidgetVisible(row, 0, 80);
    row->focusEditor();
    return true;
}

}  // namespace plimsoll::ui
