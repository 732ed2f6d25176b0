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
    /// The column that takes the room that is left, of which `least` is kept; the others take what they need.
    void setStretch(int column, int least = 190);
    /// A column of long texts: this wide, cut with an ellipsis (the tooltip has it all).
    void setColumnLimit(int column, int width);
    /// As tall as its rows, without a scroll bar of its own.
    void setWholeHeight(bool whole);

    /// Where it is narrow the last columns go, so that the stretched one can be read.
    void setDropsColumns(bool drops) { drops_ = drops; }

    /// A column that has nothing to say about these rows stays away.
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
