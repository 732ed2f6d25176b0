// SPDX-License-Identifier: GPL-3.0-or-later
// Shares of a whole as a ring, the whole in its middle.
#pragma once

#include "ui/charts/part_chart.h"

namespace plimsoll::ui {

class SharePie : public PartChart {
    Q_OBJECT
public:
    SharePie(const QString& title, const QString& unit, QWidget* parent = nullptr);
    /// The whole, short enough for the middle of the ring: "6.74 B".
    void setWhole(const QString& whole);

protected:
    void fill(QChart& chart, const Theme& theme) const override;
    QRectF plotArea() const override;
    QRectF linesArea() const override;
    int partInPlot(const QPointF& at) const override;
    void paintMore(QPainter& painter, const Theme& theme) const override;
    bool hasSwatches() const override { return true; }
    int pictureHeight() const override { return 132; }

private:
    QString whole_;
};

}  // namespace plimsoll::ui
