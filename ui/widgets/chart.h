// SPDX-License-Identifier: GPL-3.0-or-later
// What every chart offers beside its picture: the table behind it and the picture itself, to copy or to save.
#pragma once

#include <QImage>
#include <QWidget>

namespace plimsoll::ui {

class TableText;

class Chart : public QWidget {
    Q_OBJECT
public:
    using QWidget::QWidget;

    /// What is shown, exactly; the first row names the columns.
    virtual void writeTable(TableText& table) const = 0;
    /// As it stands, on the theme's surface, sharp enough for print.
    virtual QImage picture();

    /// To the clipboard, tabs between the cells.
    void copyData() const;
    void copyPicture();
    /// "….png" becomes the picture, any other name the table with commas. False when the file cannot be written.
    bool saveTo(const QString& path);

protected:
    void contextMenuEvent(QContextMenuEvent* event) override;
    void paintFocus(QPainter& painter) const;

    static constexpr qreal printRatio = 2;

private:
    void askWhereToSave(const QString& kind);
};

}  // namespace plimsoll::ui
