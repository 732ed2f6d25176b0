// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/pages/page.h"

#include "ui/widgets/field_row.h"

namespace plimsoll::ui {

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
    auto* column = new QVBoxLayout;
    column->setSpacing(12);
    if (width > 0) {
        auto* holder = new QWidget(widget());
        holder->setFixedWidth(width);
        holder->setLayout(column);
        column->setContentsMargins(0, 0, 0, 0);
        columns_->addWidget(holder, stretch);
    } else {
        columns_->addLayout(column, stretch);
    }
    return column;
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
