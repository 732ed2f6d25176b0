// SPDX-License-Identifier: GPL-3.0-or-later
// A calm table: no grid, no row numbers, one line under each row.
#pragma once

#include <QHash>
#include <QSet>
#include <QTableView>

namespace plimsoll::ui {

class FactTable : public QTableView {
    Q_OBJECT
public:
    explicit FactTable(const QString& name, QWidget* parent = nullptr);

    void setModel(QAbstractItemModel* model) override;
    /// The column that takes the remaining room, at least `least`; the others take the room of their contents.
    void setStretch(int column, int least = 190);
    /// Limits a column of long texts to this width, cut with an ellipsis (the tooltip has the whole text).
    void setColumnLimit(int column, int width);
    /// Makes the table as tall as its rows, without a scroll bar.
    void setWholeHeight(bool whole);

    /// In a narrow table the last columns are hidden, so that the stretched one can be read.
    void setDropsColumns(bool drops) { drops_ = drops; }

    /// Hides a column that is empty for these rows.
    void setUnused(int column, bool unused);

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    void dropColumns();
    int neededWidth(int column) const;

    bool whole_ = false;
    bool drops_ = false;
    int stretch_ = -1;
    int least_stretch_ = 0;
    QHash<int, int> limits_;
    QSet<int> unused_;
};

}  // namespace plimsoll::ui
