// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/waterline/waterline_bars.h"

#include <algorithm>
#include <QAccessible>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QToolTip>

#include "ui/common/separated_text.h"
#include "ui/common/value_format.h"
#include "ui/widgets/theme.h"

namespace plimsoll::ui {

namespace {

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

double WaterlineBarsView::lineLabelHeight() const { return QFontMetricsF(uiFont(-0.75)).height(); }

QRectF WaterlineBarsView::rowRect(std::size_t bar) const {
    const auto count = static_cast<double>(std::max<std::size_t>(bars_.bars.size(), 1));
    const double pitch = std::min(rowPitch, (height() - legendHeight() - lineLabelHeight() - 5) / count);
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

void WaterlineBarsView::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    flowLegend();
}

void WaterlineBarsView::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    flowLegend();
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
