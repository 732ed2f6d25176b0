// SPDX-License-Identifier: GPL-3.0-or-later
// The bars of the waterline: one a distinct stage, stacked by category, with the red line of usable memory.
#pragma once

#include <QWidget>

#include "ui/models/waterline_data.h"

namespace plimsoll::ui {

class WaterlineBarsView : public QWidget {
    Q_OBJECT
public:
    explicit WaterlineBarsView(QWidget* parent = nullptr);

    void setBars(WaterlineBars bars, Bytes usable);
    /// The last good bars stay, pale, while the plan is impossible.
    void setDimmed(bool dimmed);

    const std::vector<WaterlineBar>& bars() const { return bars_.bars; }
    /// Where a part of a bar is drawn; empty where it has no width.
    QRectF segment(std::size_t bar, std::size_t category) const;
    /// Where the red line stands.
    double lineX() const { return xOf(usable_); }

    QSize sizeHint() const override { return {620, 104}; }
    QSize minimumSizeHint() const override { return {320, 104}; }
    static constexpr int mostBars = 4;

protected:
    bool event(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;

private:
    double xOf(Bytes bytes) const;
    QRectF rowRect(std::size_t bar) const;
    void paintBar(QPainter& painter, std::size_t bar) const;
    void paintLegend(QPainter& painter) const;
    bool segmentAt(const QPointF& at, std::size_t& bar, std::size_t& category) const;
    void showDetails(std::size_t bar, std::size_t category, const QPoint& globalAt);
    void select(std::size_t bar, std::size_t category);
    void describe();

    WaterlineBars bars_;
    Bytes usable_ = 0;
    bool dimmed_ = false;
    std::size_t bar_ = 0;  ///< selected by keyboard
    std::size_t category_ = 0;
    double label_width_ = 80;
    double number_width_ = 80;
};

}  // namespace plimsoll::ui
