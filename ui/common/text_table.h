// SPDX-License-Identifier: GPL-3.0-or-later
// A small read-only table of text: the item model behind every fact table of the studio.
#pragma once

#include <QAbstractTableModel>
#include <QList>
#include <QStringList>

namespace plimsoll::ui {

struct TextRow {
    QStringList cells;
    QString tip;   ///< tooltip of the whole row; may be rich text
    QString name;  ///< the object that the row stands for (Qt::UserRole), where a page acts on it
    bool strong = false;
    QVariantList sort;   ///< sort keys by column, where text would sort wrongly
    bool faint = false;  ///< cannot be chosen
};

class TextTable : public QAbstractTableModel {
    Q_OBJECT
public:
    /// `numeric`: columns that are right-aligned.
    TextTable(QStringList headers, QList<int> numeric, QObject* parent = nullptr);

    /// Keeps selection and scroll position where the number of rows stays.
    void setRows(QList<TextRow> rows);
    const QList<TextRow>& rows() const { return rows_; }

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

    static constexpr int NameRole = Qt::UserRole;
    static constexpr int SortRole = Qt::UserRole + 1;

private:
    QStringList headers_;
    QList<int> numeric_;
    QList<TextRow> rows_;
};

}  // namespace plimsoll::ui
