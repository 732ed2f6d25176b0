// SPDX-License-Identifier: GPL-3.0-or-later
// A small curve of a function over the run's steps, such as the planned learning rate.
#pragma once

#include <QPolygonF>

#include "ui/widgets/chart.h"

namespace plimsoll::ui {

class CurveView : public Chart {
    Q_OBJECT
public:
    explicit CurveView(const QString& name, QWidget* parent = nullptr);

    /// Points from left to right; the labels stand at the axes' ends.
    void setCurve(QPolygonF points, const QString& top, const QString& bottom, const QString& start,
                  const QString& end);
    /// The name of the horizontal values, where they are not steps.
    void setHorizontalName(const QString& name) { horizontal_ = name; }
    const QPolygonF& points() const { return points_; }

    void writeTable(TableText& table) const override;

    QSize sizeHint() const override { return {320, 130}; }
    QSize minimumSizeHint() const override { return {200, 110}; }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    QPolygonF points_;
    QString top_, bottom_, start_, end_, horizontal_;
};

}  // namespace plimsoll::ui
