// SPDX-License-Identifier: GPL-3.0-or-later
// The bars of the waterline: one for each distinct stage, stacked by category, with the red line of usable memory.
#pragma once

#include "ui/waterline/waterline_data.h"
#include "ui/widgets/chart.h"

namespace plimsoll::ui {

class WaterlineBarsView : public Chart {
    Q_OBJECT
public:
    explicit WaterlineBarsView(QWidget* parent = nullptr);

    void setBars(WaterlineBars bars, Bytes usable);
    /// Shows the last good bars pale while the plan is impossible.
    void setDimmed(bool dimmed);

    const std::vector<WaterlineBar>& bars() const { return bars_.bars; }
    /// The rectangle of a part of a bar; empty where the part has no width.
    QRectF segment(std::size_t bar, std::size_t category) const;
    /// The position of the red line.
    double lineX() const { return xOf(usable_); }
    /// The text under the red line, between the last bar and the legend, whatever the number of bars.
    QRectF lineLabel() const;

    void writeTable(TableText& table) const override;

    QSize sizeHint() const override { return {620, 118}; }
    QSize minimumSizeHint() const override { return {260, 104}; }
    static constexpr int mostBars = 4;

protected:
    bool event(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    double xOf(Bytes bytes) const;
    QRectF rowRect(std::size_t bar) const;
    void paintBar(QPainter& painter, std::size_t bar) const;
    void paintLegend(QPainter& painter) const;
    void paintLine(QPainter& painter) const;
    /// Wraps the names into as many rows as the width requires.
    void flowLegend();
    double legendHeight() const;
    double lineLabelHeight() const;
    QString lineText() const;
    bool segmentAt(const QPointF& at, std::size_t& bar, std::size_t& category) const;
    void showDetails(std::size_t bar, std::size_t category, const QPoint& globalAt);
    void select(std::size_t bar, std::size_t category);
    void describe();

    WaterlineBars bars_;
    Bytes usable_ = 0;
    bool dimmed_ = false;
    std::size_t bar_ = 0;  ///< selected by keyboard
    std::size_t category_ = 0;
    std::array<QPointF, category_names.size()> legend_;  ///< where each name stands
    double label_width_ = 80;
    double number_width_ = 80;
};

}  // namespace plimsoll::ui
