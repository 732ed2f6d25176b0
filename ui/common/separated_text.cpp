// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/common/separated_text.h"

#include <QLocale>

namespace plimsoll::ui {

void TableText::add(const QString& cell) {
    if (row_begun_) text_ += separator_;
    row_begun_ = true;
    const bool plain = !cell.contains(separator_) && !cell.contains(QLatin1Char('"')) &&
                       !cell.contains(QLatin1Char('\n')) && !cell.contains(QLatin1Char('\r'));
    if (plain) {
        text_ += cell;
        return;
    }
    QString quoted = cell;
    text_ += QLatin1Char('"') + quoted.replace(QLatin1Char('"'), QStringLiteral("\"\"")) + QLatin1Char('"');
}

void TableText::add(double value) { add(QString::number(value, 'g', QLocale::FloatingPointShortest)); }

void TableText::endRow() {
    text_ += QLatin1Char('\n');
    row_begun_ = false;
}

void TableText::addRow(const QStringList& cells) {
    for (const QString& cell : cells) add(cell);
    endRow();
}

}  // namespace plimsoll::ui
