// SPDX-License-Identifier: GPL-3.0-or-later
// A cell with a figure and, under it, a bar that says which share of a whole it is.
#pragma once

#include <QStyledItemDelegate>

namespace plimsoll::ui {

class ShareDelegate : public QStyledItemDelegate {
    Q_OBJECT
public:
    /// `role` gives the share; cells without one are plain.
    explicit ShareDelegate(int role, QObject* parent = nullptr) : QStyledItemDelegate(parent), role_(role) {}
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;

private:
    int role_;
};

}  // namespace plimsoll::ui
