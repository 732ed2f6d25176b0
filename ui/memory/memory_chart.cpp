// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/memory/memory_chart.h"

#include <algorithm>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QToolTip>

#include "ui/common/separated_text.h"
#include "ui/common/value_format.h"
#include "ui/waterline/term_comparison.h"
#include "ui/waterline/waterline_data.h"
#include "ui/widgets/theme.h"

namespace plimsoll::ui {

MemoryChart::MemoryChart(QWidget* parent) : TimeChart(tr("Memory over one step"), parent) {
    setZoomable(true);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
}

void MemoryChart::setTimeline(std::shared_ptr<const MemoryTimeline> timeline, Bytes usable) {
    const bool other = timeline != timeline_;
    timeline_ = std::move(timeline);
    if (timeline_ && timeline_->event.empty()) timeline_.reset();
    usable_ = usable;
    top_ = 1;
    if (timeline_) {
        top_ = std::max({top_, timeline_->peak, timeline_->peak_reserved});
        // A card's line far above the curve would press everything else flat.
        if (usable_ > 0 && usable_ <= 2 * top_) top_ = std::max(top_, usable_);
        if (other) {
            hovered_.reset();
            span()->setWhole(static_cast<double>(std::max<std::int64_t>(timeline_->events, 1)));
            span()->showWhole();
        }
        setAccessibleDescription(
            tr("%1 events, at most %2 live, after event %3")
                .arg(countText(timeline_->events), bytesText(timeline_->peak), countText(timeline_->peak_event)));
    } else {
        setAccessibleDescription(empty_text_);
    }
    stale_ = true;
    update();
}

void MemoryChart::setEmptyText(const QString& text) {
    empty_text_ = text;
    if (!timeline_) update();
}

void MemoryChart::setDimmed(bool dimmed) {
    if (dimmed == dimmed_) return;
    dimmed_ = dimmed;
    update();
}

std::size_t MemoryChart::pointOfEvent(double event) const {
    const auto& events = timeline_->event;
    const auto after = std::upper_bound(events.begin(), events.end(), static_cast<std::int64_t>(event));
    return after == events.begin() ? 0 : static_cast<std::size_t>(after - events.begin() - 1);
}

std::optional<std::size_t> MemoryChart::pointAt(const QPointF& at) const {
    if (!timeline_ || !frame().contains(at)) return std::nullopt;
    return pointOfEvent(timeAt(at.x()));
}

const TimelinePhase* MemoryChart::phaseOf(std::int64_t event) const {
    const TimelinePhase* last = nullptr;
    for (const TimelinePhase& phase : timeline_->phases) {
        if (phase.event > event) break;
        last = &phase;
    }
    return last;
}

QString MemoryChart::pointText(std::size_t point) const {
    const MemoryTimeline& t = *timeline_;
    const TimelinePhase* phase = phaseOf(t.event[point]);
    QString text = QStringLiteral("<p style='margin:0'><b>%1</b> · %2</p>")
                       .arg(bytesText(t.live_at(point)), tr("event %1").arg(countText(t.event[point])));
    const auto op = static_cast<std::size_t>(t.op[point]);
    const QString name = op < t.ops.size() ? QString::fromStdString(t.ops[op]) : QString();
    QStringList where;
    if (phase) where << QString::fromStdString(phase->name);
    if (!name.isEmpty()) where << name;
    text +=
        QStringLiteral("<p style='margin:2px 0 4px 0'>%1</p>").arg(where.join(QStringLiteral(" · ")).toHtmlEscaped());
    text += QStringLiteral("<table cellspacing='0' cellpadding='1'>");
    for (std::size_t c = memory_categories; c-- > 0;) {
        const Bytes change = point > 0 ? t.live[point][c] - t.live[point - 1][c] : 0;
        text += QStringLiteral(
                    "<tr><td>%1&nbsp;&nbsp;</td><td align='right'>%2</td><td align='right'>&nbsp;&nbsp;%3</td></tr>")
                    .arg(categoryName(static_cast<Category>(c)).toHtmlEscaped(), bytesText(t.live[point][c]),
                         change == 0 ? QString() : differenceText(change));
    }
    if (!t.reserved.empty())
        text += QStringLiteral("<tr><td>%1</td><td align='right'>%2</td><td></td></tr>")
                    .arg(tr("Reserved"), bytesText(t.reserved[point]));
    return text + QStringLiteral("</table>");
}

void MemoryChart::spanChanged() {
    stale_ = true;
    update();
}

void MemoryChart::resizeEvent(QResizeEvent* event) {
    TimeChart::resizeEvent(event);
    stale_ = true;
}

void MemoryChart::changeEvent(QEvent* event) {
    TimeChart::changeEvent(event);
    scale_width_ = 0;
    stale_ = true;
}

void MemoryChart::hover(std::optional<std::size_t> point) {
    if (point == hovered_) return;
    hovered_ = point;
    update();
}

bool MemoryChart::event(QEvent* event) {
    if (event->type() != QEvent::ToolTip) return TimeChart::event(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    if (const auto point = pointAt(help->pos()))
        QToolTip::showText(help->globalPos(), pointText(*point), this);
    else
        QToolTip::hideText();
    return true;
}

void MemoryChart::mouseMoveEvent(QMouseEvent* event) {
    TimeChart::mouseMoveEvent(event);
    const auto point = pointAt(event->position());
    hover(point);
    if (point && QToolTip::isVisible()) QToolTip::showText(event->globalPosition().toPoint(), pointText(*point), this);
}

void MemoryChart::leaveEvent(QEvent* event) {
    TimeChart::leaveEvent(event);
    hover(std::nullopt);
}

void MemoryChart::keyPressEvent(QKeyEvent* event) {
    // Shift and an arrow walk from point to point, as the mouse would.
    const bool walks =
        (event->modifiers() & Qt::ShiftModifier) && (event->key() == Qt::Key_Left || event->key() == Qt::Key_Right);
    if (!timeline_ || !walks) return TimeChart::keyPressEvent(event);
    const std::size_t last = timeline_->event.size() - 1;
    std::size_t point = hovered_.value_or(pointOfEvent(static_cast<double>(timeline_->peak_event)));
    if (hovered_)
        point = event->key() == Qt::Key_Right ? std::min(point + 1, last) : point - std::min<std::size_t>(point, 1);
    hover(point);
    const double x = std::clamp(xOf(static_cast<double>(timeline_->event[point])), frame().left(), frame().right());
    QToolTip::showText(mapToGlobal(QPointF(x, frame().top()).toPoint()), pointText(point), this);
}

void MemoryChart::writeTable(TableText& table) const {
    QStringList head{tr("event"), tr("op")};
    for (std::size_t c = 0; c < memory_categories; ++c)
        head << tr("%1, bytes").arg(categoryName(static_cast<Category>(c)));
    table.addRow(head << tr("live, bytes") << tr("reserved, bytes"));
    if (!timeline_) return;
    for (std::size_t i = 0; i < timeline_->event.size(); ++i) {
        const auto op = static_cast<std::size_t>(timeline_->op[i]);
        QStringList row{QString::number(timeline_->event[i]),
                        QString::fromStdString(op < timeline_->ops.size() ? timeline_->ops[op] : "")};
        for (const Bytes bytes : timeline_->live[i]) row << QString::number(bytes);
        row << QString::number(timeline_->live_at(i));
        table.addRow(row << (timeline_->reserved.empty() ? QString() : QString::number(timeline_->reserved[i])));
    }
}

}  // namespace plimsoll::ui
