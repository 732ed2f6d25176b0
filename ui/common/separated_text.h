// SPDX-License-Identifier: GPL-3.0-or-later
// A table as text, for the clipboard (tabs between cells) or a file (commas).
#pragma once

#include <QString>
#include <QStringList>

namespace plimsoll::ui {

/// Built cell by cell, so that a million rows need no memory beyond their text.
class TableText {
public:
    explicit TableText(QChar separator) : separator_(separator) {}

    void add(const QString& cell);
    /// Appends the shortest text that reads back as the same number, whatever the locale.
    void add(double value);
    void addNothing() { add(QString()); }
    void endRow();
    void addRow(const QStringList& cells);

    const QString& text() const { return text_; }

private:
    QChar separator_;
    QString text_;
    bool row_begun_ = false;
};

}  // namespace plimsoll::ui
