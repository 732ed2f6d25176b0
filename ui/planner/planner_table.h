// SPDX-License-Identifier: GPL-3.0-or-later
// The found layouts: sortable, filtered, copied; one is shown in full, two are compared.
#pragma once

#include <QLineEdit>
#include <QSortFilterProxyModel>
#include <QWidget>

#include "ui/planner/candidate_table.h"
#include "ui/widgets/fact_table.h"

namespace plimsoll::ui {

class PlannerTable : public QWidget {
    Q_OBJECT
public:
    explicit PlannerTable(QWidget* parent = nullptr);

    /// Keeps selected layouts that are still in the answer; until the person selects, the best layout is selected.
    void setAnswer(const PlannerAnswer* answer, const Plan& present);
    const std::vector<CandidateRow>& rows() const { return model_.rows(); }
    /// Indices into rows(), the last selected one first; at most two.
    QList<int> selected() const { return selected_; }
    void select(int row);

    FactTable* table() const { return table_; }
    QLineEdit* filter() const { return filter_; }
    /// Copies text with tabs: the selected rows, or all shown rows.
    void copy() const;

signals:
    void selectionChanged();
    void useRequested(int row);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    QModelIndex shown(int row) const { return sorted_.mapFromSource(model_.index(row, 0)); }
    void setFilter(const QString& text);
    void follow();
    void showColumns(const PlannerAnswer* answer);

    CandidateTable model_;
    QSortFilterProxyModel sorted_;
    QLineEdit* filter_;
    FactTable* table_;
    QList<int> selected_;
    bool picked_ = false;     ///< a person has selected
    bool restoring_ = false;  ///< the table restores the selection, which is no choice of the person
};

}  // namespace plimsoll::ui
