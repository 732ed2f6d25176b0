// SPDX-License-Identifier: GPL-3.0-or-later
// Draws the waterline: its bars, the red line and the legend.
#include <algorithm>
#include <QPainter>

#include "ui/common/value_format.h"
#include "ui/waterline/waterline_bars.h"
#include "ui/widgets/theme.h"

namespace plimsoll::ui {

namespace {

constexpr double legendRow = 18;
constexpr double legendGap = 14;
constexpr double swatch = 14;

}  // namespace

void WaterlineBarsView::paintBar(QPainter& painter, std::size_t bar) const {
    const Theme& theme = Theme::of(palette());
    const WaterlineBar& shown = bars_.bars[bar];
    const QRectF row = rowRect(bar);
    painter.setFont(uiFont(-0.75));
    painter.setPen(theme.ink);
    // Text may be taller than a bar among many.
    const QRectF line_of_text = row.adjusted(0, -4, 0, 4);
    painter.drawText(QRectF(0, line_of_text.top(), label_width_ + 8, line_of_text.height()),
                     Qt::AlignLeft | Qt::AlignVCenter, shown.label);
    for (std::size_t i = 0; i < shown.bytes.size(); ++i) {
        const QRectF part = segment(bar, i);
        if (part.width() <= 0) continue;
        // Whole pixels: neighbouring parts must not mix at their border.
        const double left = std::round(part.left());
        painter.fillRect(QRectF(left, part.top(), std::max(1.0, std::round(part.right()) - left), part.height()),
                         theme.category[i]);
    }
    const double end = xOf(shown.total);
    double textAt = end + 6;
    const double line = lineX();
    if (textAt - 2 < line && textAt + number_width_ + 4 > line) textAt = line + 8;
    painter.setPen(shown.total > usable_ ? theme.water : theme.ink);
    painter.setFont(uiFont(-0.75, shown.total > usable_));
    painter.drawText(QRectF(textAt, line_of_text.top(), width() - textAt, line_of_text.height()),
                     Qt::AlignLeft | Qt::AlignVCenter, bytesText(shown.total));
    if (hasFocus() && bar == bar_) {
        painter.setPen(QPen(theme.ink, 2));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(segment(bar, category_).adjusted(0, -1, 0, 1));
    }
}

void WaterlineBarsView::flowLegend() {
    const QFontMetricsF metrics(uiFont(-0.75));
    QPointF at;
    for (std::size_t i = 0; i < legend_.size(); ++i) {
        const double width = swatch + metrics.horizontalAdvance(categoryName(static_cast<Category>(i)));
        if (at.x() > 0 && at.x() + width > this->width()) at = {0, at.y() + legendRow};
        legend_[i] = at;
        at.rx() += width + legendGap;
    }
}

double WaterlineBarsView::legendHeight() const { return legend_.back().y() + legendRow + 4; }

void WaterlineBarsView::paintLegend(QPainter& painter) const {
    const Theme& theme = Theme::of(palette());
    painter.setFont(uiFont(-0.75));
    const QFontMetricsF metrics(painter.font());
    const double top = height() - legendHeight() + 4;
    double x = 0;
    double y = top;
    for (std::size_t i = 0; i < legend_.size(); ++i) {
        const QString name = categoryName(static_cast<Category>(i));
        x = legend_[i].x();
        y = top + legend_[i].y() + legendRow / 2;
        painter.fillRect(QRectF(x, y - 5, 10, 10), theme.category[i]);
        painter.setPen(theme.muted);
        painter.drawText(QPointF(x + swatch, y + metrics.capHeight() / 2), name);
        x += swatch + metrics.horizontalAdvance(name) + legendGap;
    }
    if (bars_.hidden == 0) return;
    const QString more = bars_.hidden == 1 ? tr("1 more kind of stage holds less")
                                           : tr("%1 more kinds of stage hold less").arg(bars_.hidden);
    if (x + metrics.horizontalAdvance(more) <= width())
        painter.drawText(QRectF(x, y - legendRow / 2, width() - x, legendRow), Qt::AlignRight | Qt::AlignVCenter, more);
}

QString WaterlineBarsView::lineText() const { return tr("%1 usable").arg(bytesText(usable_)); }

QRectF WaterlineBarsView::lineLabel() const {
    const double width = QFontMetricsF(uiFont(-0.75)).horizontalAdvance(lineText());
    const double bottom = rowRect(bars_.bars.empty() ? 0 : bars_.bars.size() - 1).bottom() + 4;
    return {std::min(std::round(lineX()) - width / 2, this->width() - width), bottom, width, lineLabelHeight()};
}

void WaterlineBarsView::paintLine(QPainter& painter) const {
    const Theme& theme = Theme::of(palette());
    const QRectF label = lineLabel();
    painter.fillRect(QRectF(std::round(lineX()) - 1, 0, 2, label.top()), theme.water);
    painter.setFont(uiFont(-0.75));
    painter.setPen(theme.water);
    painter.drawText(QPointF(label.left(), label.top() + QFontMetricsF(painter.font()).ascent()), lineText());
}

void WaterlineBarsView::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.setOpacity(dimmed_ ? 0.35 : 1);
    for (std::size_t bar = 0; bar < bars_.bars.size(); ++bar) paintBar(painter, bar);
    if (!bars_.bars.empty() && usable_ > 0) paintLine(painter);
    paintLegend(painter);
}

}  // namespace plimsoll::ui
