// SPDX-License-Identifier: GPL-3.0-or-later
// A bar for each part, on one scale; or two, where two wholes are compared.
#pragma once

#include "ui/charts/part_chart.h"

namespace plimsoll::ui {

class PartBars : public PartChart {
    Q_OBJECT
public:
    PartBars(const QString& title, const QString& unit, QWidget* parent = nullptr);
    /// Names the two wholes: the bars then take the accent, `ChartPart::other` stands under each in grey.
    void setCompared(const QString& shown, const QString& other);
    bool isCompared() const { return !other_.isEmpty(); }

protected:
    void fill(QChart& chart, const Theme& theme) const override;
    QRectF plotArea() const override;
    QRectF linesArea() const override;
    int partInPlot(const QPointF& at) const override;
    void paintMore(QPainter& painter, const Theme& theme) const override;
    bool hasSwatches() const override { return false; }
    int pictureHeight() const override;
    QStringList valueHeaders() const override;

private:
    double linesWidth() const;
    double linesTop() const { return isCompared() ? lineHeight : 0; }

    QString unit_, shown_, other_;
};

}  // namespace plimsoll::ui
