// SPDX-License-Identifier: GPL-3.0-or-later
// Draws an event: its step in a muted column, its sentence wrapped beside it, a rule below.
#pragma once

#include <QStyledItemDelegate>

namespace plimsoll::ui {

class EventDelegate : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;
};

}  // namespace plimsoll::ui
