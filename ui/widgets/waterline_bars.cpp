// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/waterline_bars.h"

#include <algorithm>
#include <QAccessible>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QPainter>
#include <QToolTip>

#include "ui/models/table_text.h"
#include "ui/widgets/theme.h"

namespace plimsoll::ui {

namespace {

constexpr double legendRow = 18;
constexpr double legendGap = 14;
constexpr double swatch = 14;
constexpr double rowPitch = 30;
constexpr double rowHeight = 22;

}  // namespace

WaterlineBarsView::WaterlineBarsView(QWidget* parent) : Chart(parent) {
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    setAccessibleName(tr("Memory of each rank"));
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void WaterlineBarsView::setBars(WaterlineBars bars, Bytes usable) {
    bars_ = std::move(bars);
    usable_ = usable;
    const QFontMetricsF metrics(uiFont(-0.75));
    label_width_ = 64;
    number_width_ = 60;
    for (const WaterlineBar& bar : bars_.bars) {
        label_width_ = std::max(label_width_, metrics.horizontalAdvance(bar.label));
        number_width_ = std::max(number_width_, metrics.horizontalAdvance(bytesText(bar.total)));
    }
    bar_ = std::min(bar_, bars_.bars.empty() ? 0 : bars_.bars.size() - 1);
    describe();
    update();
}

void WaterlineBarsView::setDimmed(bool dimmed) {
    if (dimmed == dimmed_) return;
    dimmed_ = dimmed;
    update();
}

void WaterlineBarsView::describe() {
    QStringList lines;
    for (const WaterlineBar& bar : bars_.bars)
        lines << tr("%1, %2: %3").arg(bar.label, bar.ranks, partOf(bar.total, usable_));
    setAccessibleDescription(lines.join(QStringLiteral("; ")));
}

double WaterlineBarsView::xOf(Bytes bytes) const {
    Bytes most = usable_;
    for (const WaterlineBar& bar : bars_.bars) most = std::max(most, bar.total);
    const double left = label_width_ + 14;
    const double room = std::max(40.0, width() - left - number_width_ - 16);
    return most > 0 ? left + room * static_cast<double>(bytes) / static_cast<double>(most) : left;
}

QRectF WaterlineBarsView::rowRect(std::size_t bar) const {
    const auto count = static_cast<double>(std::max<std::size_t>(bars_.bars.size(), 1));
    const double pitch = std::min(rowPitch, (height() - legendHeight() - 4) / count);
    const double barHeight = std::min(rowHeight, pitch - 4);
    return {0, 4 + pitch * static_cast<double>(bar), static_cast<double>(width()), barHeight};
}

QRectF WaterlineBarsView::segment(std::size_t bar, std::size_t category) const {
    if (bar >= bars_.bars.size()) return {};
    const WaterlineBar& shown = bars_.bars[bar];
    Bytes before = 0;
    for (std::size_t i = 0; i < category; ++i) before += shown.bytes[i];
    const QRectF row = rowRect(bar);
    const double from = xOf(before);
    return {from, row.top(), xOf(before + shown.bytes[category]) - from, row.height()};
}

void WaterlineBarsView::paintBar(QPainter& painter, std::size_t bar) const {
    const Theme& theme = Theme::of(palette());
    const WaterlineBar& shown = bars_.bars[bar];
    const QRectF row = rowRect(bar);
    painter.setFont(uiFont(-0.75));
    painter.setPen(theme.ink);
    painter.drawText(QRectF(0, row.top(), label_width_ + 8, row.height()), Qt::AlignLeft | Qt::AlignVCenter,
                     shown.label);
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
    painter.drawText(QRectF(textAt, row.top(), width() - textAt, row.height()), Qt::AlignLeft | Qt::AlignVCenter,
                     bytesText(shown.total));
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

void WaterlineBarsView::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    flowLegend();
}

void WaterlineBarsView::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    flowLegend();
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

void WaterlineBarsView::paintLine(QPainter& painter) const {
    const Theme& theme = Theme::of(palette());
    const double x = std::round(lineX());
    const double bottom = rowRect(bars_.bars.size() - 1).bottom() + 4;
    painter.fillRect(QRectF(x - 1, 0, 2, bottom), theme.water);
    // Under the line where the bars leave room for it.
    painter.setFont(uiFont(-0.75));
    const QFontMetricsF metrics(painter.font());
    if (height() - legendHeight() - bottom < metrics.height()) return;
    const QString label = tr("%1 usable").arg(bytesText(usable_));
    const double half = metrics.horizontalAdvance(label) / 2;
    painter.setPen(theme.water);
    painter.drawText(QPointF(std::min(x - half, width() - 2 * half), bottom + metrics.ascent()), label);
}

void WaterlineBarsView::writeTable(TableText& table) const {
    QStringList head{tr("stages"), tr("ranks")};
    for (std::size_t i = 0; i < category_names.size(); ++i)
        head << tr("%1, bytes").arg(categoryName(static_cast<Category>(i)));
    table.addRow(head << tr("total, bytes") << tr("usable, bytes"));
    for (const WaterlineBar& bar : bars_.bars) {
        QStringList row{bar.label, bar.ranks};
        for (const Bytes bytes : bar.bytes) row << QString::number(bytes);
        table.addRow(row << QString::number(bar.total) << QString::number(usable_));
    }
}

void WaterlineBarsView::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.setOpacity(dimmed_ ? 0.35 : 1);
    for (std::size_t bar = 0; bar < bars_.bars.size(); ++bar) paintBar(painter, bar);
    if (!bars_.bars.empty() && usable_ > 0) paintLine(painter);
    paintLegend(painter);
}

bool WaterlineBarsView::segmentAt(const QPointF& at, std::size_t& bar, std::size_t& category) const {
    for (bar = 0; bar < bars_.bars.size(); ++bar)
        for (category = 0; category < category_names.size(); ++category)
            if (segment(bar, category).adjusted(0, -2, 0, 2).contains(at)) return true;
    return false;
}

void WaterlineBarsView::showDetails(std::size_t bar, std::size_t category, const QPoint& globalAt) {
    const QString details =
        QStringLiteral("<table width='460'><tr><td>%1</td></tr></table>").arg(bars_.bars[bar].details[category]);
    QToolTip::showText(globalAt, details, this);
}

bool WaterlineBarsView::event(QEvent* event) {
    if (event->type() != QEvent::ToolTip) return QWidget::event(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    std::size_t bar = 0;
    std::size_t category = 0;
    if (segmentAt(help->pos(), bar, category))
        showDetails(bar, category, help->globalPos());
    else
        QToolTip::hideText();
    return true;
}

void WaterlineBarsView::select(std::size_t bar, std::size_t category) {
    bar_ = bar;
    category_ = category;
    const WaterlineBar& shown = bars_.bars[bar_];
    setAccessibleDescription(shown.spoken[category_]);
    QAccessibleEvent told(this, QAccessible::DescriptionChanged);
    QAccessible::updateAccessibility(&told);
    showDetails(bar_, category_, mapToGlobal(segment(bar_, category_).center().toPoint()));
    update();
}

void WaterlineBarsView::keyPressEvent(QKeyEvent* event) {
    if (bars_.bars.empty()) return QWidget::keyPressEvent(event);
    const auto across = [this](std::size_t by) {
        std::size_t next = category_;
        do next = (next + by) % category_names.size();
        while (bars_.bars[bar_].bytes[next] == 0 && next != category_);
        select(bar_, next);
    };
    switch (event->key()) {
        case Qt::Key_Right:
            return across(1);
        case Qt::Key_Left:
            return across(category_names.size() - 1);
        case Qt::Key_Down:
            return select((bar_ + 1) % bars_.bars.size(), category_);
        case Qt::Key_Up:
            return select((bar_ + bars_.bars.size() - 1) % bars_.bars.size(), category_);
        case Qt::Key_Return:
        case Qt::Key_Space:
            return select(bar_, category_);
        default:
            QWidget::keyPressEvent(event);
    }
}

void WaterlineBarsView::focusInEvent(QFocusEvent* event) {
    QWidget::focusInEvent(event);
    update();
}

void WaterlineBarsView::focusOutEvent(QFocusEvent* event) {
    QWidget::focusOutEvent(event);
    describe();
    update();
}

}  // namespace plimsoll::ui
