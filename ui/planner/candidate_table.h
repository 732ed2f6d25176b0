// SPDX-License-Identifier: GPL-3.0-or-later
// Layouts that were found, a row each: item model of the Planner page's table.
#pragma once

#include <QAbstractTableModel>
#include <vector>

#include "ui/planner/planner_model.h"

namespace plimsoll::ui {

class TableText;

struct CandidateRow {
    Candidate candidate;
    int rank = 0;          ///< by the objective, from 1; 0: only on the front, listed behind the ranked ones
    bool present = false;  ///< the plan's own layout
};

class CandidateTable : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column { Rank, Front, Words, Gpus, Step, Peak, Risk, Host, Tokens, Price, Mfu, Bubble, ColumnCount };

    using QAbstractTableModel::QAbstractTableModel;

    /// `present` is the plan whose own layout is marked. Rows keep their places if their number is unchanged.
    void setAnswer(const PlannerAnswer* answer, const Plan& present);
    const std::vector<CandidateRow>& rows() const { return rows_; }
    /// -1: the table does not hold the candidate.
    int rowOf(const Candidate& candidate) const;
    /// Writes every column of these rows, in this order, with numbers that read back.
    void writeTable(const std::vector<int>& rows, TableText& table) const;

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

    static constexpr int SortRole = Qt::UserRole;
    static constexpr int ShareRole = Qt::UserRole + 1;   ///< peak / usable, of the column Peak
    static constexpr int FilterRole = Qt::UserRole + 2;  ///< text that a filter searches

private:
    QString text(const CandidateRow& row, int column) const;
    QVariant sortKey(const CandidateRow& row, int column) const;

    std::vector<CandidateRow> rows_;
    Bytes usable_ = 0;
};

/// Same GPUs, same layout.
bool sameLayout(const Candidate& a, const Candidate& b);

}  // namespace plimsoll::ui
