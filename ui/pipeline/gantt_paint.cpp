// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>
#include <QPainter>

#include "ui/common/value_format.h"
#include "ui/pipeline/gantt.h"
#include "ui/waterline/waterline_data.h"

namespace plimsoll::ui {

namespace {

constexpr double narrow = 9;     // a frame would hide a narrower cell
constexpr double narrowest = 3;  // width of an outline

}  // namespace

void Gantt::draw() {
    const QRectF area = plotArea();
    picture_ = drawGanttRows(pipeline_->timeline,
                             {area.width(), pitch(), gap(), span()->from(), span()->to(), devicePixelRatioF()},
                             Theme::of(palette()));
    stale_ = false;
}

void Gantt::paintLabels(QPainter& painter) const {
    const Theme& theme = Theme::of(palette());
    const QRectF area = plotArea();
    const Timeline& timeline = pipeline_->timeline;
    painter.setFont(uiFont(-0.75));
    painter.setPen(theme.muted);
    const auto every = static_cast<std::size_t>(std::ceil(16 / pitch()));
    for (std::size_t row = 0; row < rows(); row += every) {
        const double height = std::max(pitch() - gap(), 13.0);
        const double top = std::max(0.0, pitch() * (static_cast<double>(row) + 0.5) - gap() / 2 - height / 2);
        painter.drawText(QRectF(0, top, area.left() - 8, height), Qt::AlignLeft | Qt::AlignVCenter,
                         tr("rank %1").arg(row));
        const double idle = timeline.idle[row];
        painter.drawText(
            QRectF(area.right(), top, width() - area.right(), height), Qt::AlignRight | Qt::AlignVCenter,
            tr("%1 · %2").arg(timeText(idle), percentText(timeline.makespan > 0 ? idle / timeline.makespan : 0)));
    }
    painter.drawText(QRectF(area.right(), height() - axisHeight + 3, width() - area.right(), axisHeight - 4),
                     Qt::AlignRight | Qt::AlignVCenter, tr("idle"));
}

void Gantt::paintChain(QPainter& painter) const {
    if (chain_.empty()) return;
    const Theme& theme = Theme::of(palette());
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setClipRect(plotArea());
    painter.setBrush(Qt::NoBrush);
    const TimedOp* later = nullptr;
    for (const OpPlace& place : chain_) {
        const TimedOp& op = at(place);
        const QRectF from = cell(op);
        painter.setPen(QPen(theme.ink, later ? 1.5 : 2.5));
        if (from.width() >= narrow)
            painter.drawRect(from.adjusted(1, 1, -1, -1));
        else
            painter.fillRect(QRectF(from.left(), from.bottom() - 3, std::max(1.0, from.width()), later ? 3 : 5),
                             theme.ink);
        if (later && later->rank != op.rank) {
            const QRectF to = cell(*later);
            painter.setPen(QPen(theme.ink, 1.5, Qt::DashLine));
            painter.drawLine(QPointF(from.right(), from.center().y()), QPointF(to.left(), to.center().y()));
        }
        later = &op;
    }
    painter.setClipping(false);
    painter.setRenderHint(QPainter::Antialiasing, false);
}

void Gantt::paintPredicted(QPainter& painter) const {
    if (!predicted_) return;
    const QRectF area = plotArea();
    painter.setClipRect(area);
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(Theme::of(palette()).ink, 1));
    for (const std::vector<TimedOp>& ops : predicted_->timeline.ranks) {
        const auto first = std::partition_point(ops.begin(), ops.end(),
                                                [this](const TimedOp& op) { return op.end <= span()->from(); });
        for (auto op = first; op != ops.end() && op->start < span()->to(); ++op) {
            const QRectF at = cell(*op);
            // Narrower outlines would only blacken the row; zooming in shows them.
            if (at.width() >= narrowest) painter.drawRect(at.adjusted(0.5, 0.5, -0.5, -0.5));
        }
    }
    painter.setClipping(false);
}

void Gantt::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    if (!pipeline_) {
        painter.setPen(Theme::of(palette()).muted);
        painter.drawText(rect(), Qt::AlignCenter | Qt::TextWordWrap, empty_text_);
        return;
    }
    if (stale_) draw();
    painter.drawImage(QPointF(plotArea().left(), 0), picture_);
    paintPredicted(painter);
    paintLabels(painter);
    paintAxis(painter);
    paintChain(painter);
    paintFocus(painter);
}

}  // namespace plimsoll::ui
