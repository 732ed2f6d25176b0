// SPDX-License-Identifier: GPL-3.0-or-later
// Draws a run in the picker's list: its name, and how it stands in a muted line below.
#pragma once

#include <QStyledItemDelegate>

namespace plimsoll::ui {

class RunDelegate : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;
};

}  // namespace plimsoll::ui
