// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/common/text_table.h"
#include "ui/common/escaped_text.h"

#include <QFont>
#include <QGuiApplication>
#include <QPalette>
#include <utility>

namespace plimsoll::ui {

namespace {

constexpr int fewCells = 12;

/// Tip and name are not painted: views ask for them when needed.
bool sameCell(const TextRow& a, const TextRow& b, int column) {
    return a.cells.value(column) == b.cells.value(column) && a.strong == b.strong && a.faint == b.faint &&
           a.sort.value(column) == b.sort.value(column);
}

}  // namespace

TextTable::TextTable(QStringList headers, QList<int> numeric, QObject* parent)
    : QAbstractTableModel(parent), headers_(std::move(headers)), numeric_(std::move(numeric)) {}

void TextTable::setRows(QList<TextRow> rows) {
    if (rows.size() == rows_.size()) {
        const QList<TextRow> before = std::exchange(rows_, std::move(rows));
        QList<QModelIndex> changed;
        for (int row = 0; row < before.size(); ++row)
            for (int column = 0; column < columnCount(); ++column)
                if (!sameCell(before[row], rows_[row], column)) changed.append(index(row, column));
        // Views repaint one cell for a single-cell notice, and all cells for a range; each notice also has a cost of
        // its own.
        if (changed.size() > fewCells)
            emit dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
        else
            for (const QModelIndex& cell : std::as_const(changed)) emit dataChanged(cell, cell);
        return;
    }
    beginResetModel();
    rows_ = std::move(rows);
    endResetModel();
}

int TextTable::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

int TextTable::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(headers_.size());
}

QVariant TextTable::data(const QModelIndex& index, int role) const {
    if (!index.isValid() || index.row() >= rows_.size()) return {};
    const TextRow& row = rows_[index.row()];
    switch (role) {
        case Qt::DisplayRole:
            return row.cells.value(index.column());
        case Qt::ToolTipRole:
            return row.tip.isEmpty() ? QVariant(plainTip(row.cells.value(index.column()))) : QVariant(row.tip);
        case Qt::AccessibleTextRole:
            return QStringLiteral("%1: %2").arg(headers_.value(index.column()), row.cells.value(index.column()));
        case Qt::TextAlignmentRole:
            return QVariant(
                Qt::Alignment((numeric_.contains(index.column()) ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter));
        case Qt::FontRole: {
            if (!row.strong) return {};
            QFont font = QGuiApplication::font();
            font.setWeight(QFont::DemiBold);
            return font;
        }
        case Qt::ForegroundRole:
            return row.faint ? QVariant(QGuiApplication::palette().brush(QPalette::Disabled, QPalette::Text))
                             : QVariant();
        case NameRole:
            return row.name;
        case SortRole: {
            const QVariant key = row.sort.value(index.column());
            return key.isValid() ? key : QVariant(row.cells.value(index.column()));
        }
        default:
            return {};
    }
}

QVariant TextTable::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal) return {};
    if (role == Qt::DisplayRole) return headers_.value(section);
    if (role == Qt::TextAlignmentRole)
        return QVariant(
            Qt::Alignment((numeric_.contains(section) ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter));
    return {};
}

}  // namespace plimsoll::ui
