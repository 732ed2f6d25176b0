// SPDX-License-Identifier: GPL-3.0-or-later
// Every schedule with its figures: sortable; a click or Enter chooses a schedule that is possible.
#pragma once

#include <QLabel>
#include <QSortFilterProxyModel>
#include <QWidget>

#include "ui/pipeline/schedule_rows.h"
#include "ui/widgets/fact_table.h"

namespace plimsoll::ui {

class ScheduleTable : public QWidget {
    Q_OBJECT
public:
    explicit ScheduleTable(QWidget* parent = nullptr);

    void setRows(const std::vector<Alternative>& rows, Schedule shown);
    FactTable* table() const { return table_; }

signals:
    void chosen(plimsoll::Schedule schedule);

private:
    void choose(const QModelIndex& index);

    TextTable rows_;
    QSortFilterProxyModel sorted_;
    FactTable* table_;
    QLabel* problems_;
    std::vector<Alternative> shown_;
};

}  // namespace plimsoll::ui
