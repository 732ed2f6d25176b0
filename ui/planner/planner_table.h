// SPDX-License-Identifier: GPL-3.0-or-later
// The layouts that were found: sortable, filtered, copied; one is looked at, two are compared.
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

    /// Keeps what is selected where it is still there; until somebody selects, the best is.
    void setAnswer(const PlannerAnswer* answer, const Plan& present);
    const std::vector<CandidateRow>& rows() const { return model_.rows(); }
    /// Rows of rows(), the one that was selected last in front; at most two.
    QList<int> selected() const { return selected_; }
    void select(int row);

    FactTable* table() const { return table_; }
    QLineEdit* filter() const { return filter_; }
    /// As text with tabs: the selected rows, or all that are shown.
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
    bool picked_ = false;     ///< by a person
    bool restoring_ = false;  ///< the selection is put back, nobody picks
};

}  // namespace plimsoll::ui
