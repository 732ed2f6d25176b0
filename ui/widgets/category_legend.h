// SPDX-License-Identifier: GPL-3.0-or-later
// The legend of memory over time: the categories and the line of reserved memory.
#pragma once

#include <QList>
#include <QRectF>
#include <QWidget>

namespace plimsoll::ui {

class CategoryLegend : public QWidget {
    Q_OBJECT
public:
    explicit CategoryLegend(QWidget* parent = nullptr);
    void setShowsReserved(bool shows);
    QSize sizeHint() const override { return {200, 18}; }
    QSize minimumSizeHint() const override { return {120, 18}; }
    /// As many rows as the names need.
    int heightForWidth(int width) const override;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    struct Entry {
        QString name;
        QRectF place;
    };
    QList<Entry> placed(double width) const;

    bool reserved_ = true;
};

}  // namespace plimsoll::ui
