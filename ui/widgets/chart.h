// SPDX-License-Identifier: GPL-3.0-or-later
// The common abilities of charts: the table behind the picture and the picture itself, to copy or to save.
#pragma once

#include <QImage>
#include <QWidget>

namespace plimsoll::ui {

class TableText;

class Chart : public QWidget {
    Q_OBJECT
public:
    using QWidget::QWidget;

    /// Writes the exact data of the chart; the first row names the columns.
    virtual void writeTable(TableText& table) const = 0;
    /// The chart's current picture on the theme's surface, sharp enough for print.
    virtual QImage picture();

    /// Copies the table to the clipboard, with tabs between the cells.
    void copyData() const;
    void copyPicture();
    /// Saves "….png" as the picture, any other name as the table with commas. False when the file cannot be written.
    bool saveTo(const QString& path);

protected:
    void contextMenuEvent(QContextMenuEvent* event) override;
    void paintFocus(QPainter& painter) const;

    static constexpr qreal printRatio = 2;

private:
    void askWhereToSave(const QString& kind);
};

}  // namespace plimsoll::ui
