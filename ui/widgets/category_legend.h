// SPDX-License-Identifier: GPL-3.0-or-later
// The legend of memory over time: the categories and the line of reserved memory.
#pragma once

#include <QWidget>

namespace plimsoll::ui {

class CategoryLegend : public QWidget {
    Q_OBJECT
public:
    explicit CategoryLegend(QWidget* parent = nullptr);
    void setShowsReserved(bool shows);
    QSize sizeHint() const override { return {200, 18}; }
    QSize minimumSizeHint() const override { return {120, 18}; }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    bool reserved_ = true;
};

}  // namespace plimsoll::ui
