// SPDX-License-Identifier: GPL-3.0-or-later
// Cells that are clicked like a link.
#pragma once

#include <QStyledItemDelegate>

namespace plimsoll::ui {

class LinkDelegate : public QStyledItemDelegate {
    Q_OBJECT
public:
    using QStyledItemDelegate::QStyledItemDelegate;

protected:
    void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override;
};

}  // namespace plimsoll::ui
