// SPDX-License-Identifier: GPL-3.0-or-later
// A catalogue to choose from: a search line over a sortable table; a click or Enter chooses.
#pragma once

#include <QLineEdit>
#include <QSortFilterProxyModel>
#include <QWidget>

#include "ui/common/text_table.h"
#include "ui/widgets/fact_table.h"

namespace plimsoll::ui {

class ChoiceTable : public QWidget {
    Q_OBJECT
public:
    ChoiceTable(const QString& name, const QString& searchHint, TextTable* rows, QWidget* parent = nullptr);

    FactTable* table() const { return table_; }
    QLineEdit* search() const { return search_; }
    /// Marks the row of that name; nothing is marked where there is none.
    void setCurrent(const QString& name);

signals:
    void chosen(const QString& name);

private:
    void choose(const QModelIndex& index);
    void markChosen();

    QSortFilterProxyModel* sorted_;
    QLineEdit* search_;
    FactTable* table_;
    QString chosen_;  ///< whose row is highlighted, and no other
    bool marking_ = false;
};

}  // namespace plimsoll::ui
