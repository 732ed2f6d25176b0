// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/bar_plot.h"

#include <algorithm>
#include <cmath>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QPainter>
#include <QToolTip>

#include "ui/common/separated_text.h"
#include "ui/widgets/theme.h"

namespace plimsoll::ui {

BarPlot::BarPlot(const QString& title, int category, ValueKind kind, QWidget* parent)
    : Chart(parent), category_(category), kind_(kind) {
    setAccessibleName(title);
    setFont(uiFont(-1.5));
    setFocusPolicy(Qt::StrongFocus);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
}

void BarPlot::setBars(std::vector<Bar> bars) {
    bars_ = std::move(bars);
    selected_ = std::min(selected_, static_cast<int>(bars_.size()) - 1);
    const auto largest =
        std::max_element(bars_.begin(), bars_.end(), [](const Bar& a, const Bar& b) { return !(a.value >= b.value); });
    setAccessibleDescription(largest == bars_.end()
                                 ? empty_text_
                                 : tr("Bars: %1; the largest is %2")
                                       .arg(bars_.size())
                                       .arg(describe(static_cast<std::size_t>(largest - bars_.begin()))));
    update();
}

void BarPlot::setEmptyText(const QString& text) {
    empty_text_ = text;
    update();
}

QString BarPlot::describe(std::size_t index) const {
    return QStringLiteral("%1: %2").arg(bars_[index].name, formatValue(kind_, bars_[index].value));
}

void BarPlot::writeTable(TableText& table) const {
    table.addRow({tr("part"), accessibleName()});
    for (const Bar& bar : bars_) {
        table.add(bar.name);
        table.add(bar.value);
        table.endRow();
    }
}

QRectF BarPlot::area() const { return QRectF(rect()).adjusted(0, 2, 0, -QFontMetricsF(font()).height() - 4); }

QRectF BarPlot::slot(std::size_t index) const {
    const QRectF all = area();
    const double width = all.width() / static_cast<double>(std::max<std::size_t>(bars_.size(), 8));
    return {all.left() + width * static_cast<double>(index), all.top(), width, all.height()};
}

void BarPlot::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    const Theme& theme = Theme::of(palette());
    if (bars_.empty()) {
        painter.setPen(theme.muted);
        painter.drawText(rect(), Qt::AlignCenter | Qt::TextWordWrap, empty_text_);
        return;
    }
    double highest = 0;
    for (const Bar& bar : bars_)
        if (std::isfinite(bar.value)) highest = std::max(highest, bar.value);
    const QRectF all = area();
    for (std::size_t i = 0; i < bars_.size(); ++i) {
        const bool finite = std::isfinite(bars_[i].value);
        const double share = !finite ? 1.0 : highest > 0 ? std::clamp(bars_[i].value / highest, 0.0, 1.0) : 0.0;
        const QRectF place = slot(i);
        const double gap = place.width() >= 4 ? std::min(2.0, place.width() / 4) : 0;
        const double height = std::max(1.0, share * all.height());
        const QColor colour = finite ? theme.category[static_cast<std::size_t>(category_) % 6] : theme.water;
        painter.fillRect(QRectF(place.left(), all.bottom() - height, std::max(1.0, place.width() - gap), height),
                         colour);
        if (static_cast<int>(i) == selected_ && hasFocus()) {
            painter.setPen(theme.ink);
            painter.drawRect(QRectF(place.left(), all.top(), place.width() - gap, all.height()));
        }
    }
    painter.fillRect(QRectF(all.left(), all.bottom(), all.width(), 1), theme.line);
    painter.setPen(theme.muted);
    const QRectF labels(all.left(), all.bottom() + 4, all.width(), QFontMetricsF(font()).height());
    if (hasFocus() && selected_ >= 0) {
        painter.setPen(theme.ink);
        painter.drawText(labels, Qt::AlignCenter, describe(static_cast<std::size_t>(selected_)));
        return;
    }
    const QFontMetricsF metrics(font());
    const double half = all.width() / 2 - 6;
    painter.drawText(labels, Qt::AlignLeft, metrics.elidedText(bars_.front().name, Qt::ElideMiddle, half));
    if (bars_.size() < 2) return;
    const QRectF last = slot(bars_.size() - 1);
    painter.drawText(QRectF(labels.left(), labels.top(), std::max(last.right(), labels.width() / 2), labels.height()),
                     Qt::AlignRight, metrics.elidedText(bars_.back().name, Qt::ElideMiddle, half));
}

bool BarPlot::event(QEvent* event) {
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        for (std::size_t i = 0; i < bars_.size(); ++i) {
            if (!slot(i).contains(help->pos())) continue;
            QToolTip::showText(help->globalPos(), describe(i), this, slot(i).toAlignedRect());
            return true;
        }
        QToolTip::hideText();
        event->ignore();
        return true;
    }
    return QWidget::event(event);
}

void BarPlot::keyPressEvent(QKeyEvent* event) {
    const bool left = event->key() == Qt::Key_Left;
    if ((!left && event->key() != Qt::Key_Right) || bars_.empty()) {
        QWidget::keyPressEvent(event);
        return;
    }
    selected_ = std::clamp(selected_ + (left ? -1 : 1), 0, static_cast<int>(bars_.size()) - 1);
    setAccessibleDescription(describe(static_cast<std::size_t>(selected_)));
    update();
}

void BarPlot::focusOutEvent(QFocusEvent* event) {
    selected_ = -1;
    QWidget::focusOutEvent(event);
}

}  // namespace plimsoll::ui
