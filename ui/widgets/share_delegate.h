// SPDX-License-Identifier: GPL-3.0-or-later
// A cell with a figure and, under it, a bar for its share of a whole.
#pragma once

#include <QStyledItemDelegate>

namespace plimsoll::ui {

class ShareDelegate : public QStyledItemDelegate {
    Q_OBJECT
public:
    /// `role` is the role of the share; cells without a share are plain.
    explicit ShareDelegate(int role, QObject* parent = nullptr) : QStyledItemDelegate(parent), role_(role) {}
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;

private:
    int role_;
};

}  // namespace plimsoll::ui
