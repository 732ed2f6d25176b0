// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/gantt.h"

#include <algorithm>
#include <cmath>
#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>

#include "ui/models/table_text.h"
#include "ui/models/waterline_data.h"

namespace plimsoll::ui {

namespace {

constexpr double tallest = 31;
constexpr int chainLength = 12;

}  // namespace

Gantt::Gantt(QWidget* parent) : TimeChart(tr("Pipeline timeline"), parent) {}

void Gantt::setPipeline(std::shared_ptr<const Pipeline> pipeline) {
    if (pipeline == pipeline_) return;
    hover(nullptr);
    causes_.reset();
    const std::size_t before = rows();
    pipeline_ = std::move(pipeline);
    stale_ = true;
    if (!pipeline_) {
        setAccessibleDescription(empty_text_);
    } else {
        const Timeline& timeline = pipeline_->timeline;
        if (ownsSpan()) span()->setWhole(timeline.makespan);
        setAccessibleDescription(tr("%1 ranks, %2 forwards long, %3 idle")
                                     .arg(timeline.ranks.size())
                                     .arg(timeText(timeline.makespan), percentText(timeline.bubble)));
    }
    if (rows() != before) updateGeometry();
    update();
}

void Gantt::setEmptyText(const QString& text) {
    empty_text_ = text;
    if (!pipeline_) setAccessibleDescription(text);
    update();
}

void Gantt::setMostHeight(double height) {
    most_height_ = height;
    updateGeometry();
}

double Gantt::pitch() const {
    if (rows() <= 6) return tallest;
    return std::clamp(most_height_ / static_cast<double>(rows()), 4.0, tallest);
}

QSize Gantt::sizeHint() const {
    const auto count = static_cast<double>(std::max<std::size_t>(rows(), pipeline_ ? 1 : 2));
    return {600, static_cast<int>(std::ceil(pitch() * count + axisHeight))};
}

QRectF Gantt::cell(const TimedOp& op) const {
    const double from = xOf(op.start);
    return {from, pitch() * op.rank, xOf(op.end) - from, pitch() - gap()};
}

const TimedOp* Gantt::opAt(const QPointF& at) const {
    const QRectF area = plotArea();
    if (at.y() < 0 || at.x() < area.left() || at.x() > area.right()) return nullptr;
    const auto row = static_cast<std::size_t>(at.y() / pitch());
    if (row >= rows() || at.y() - pitch() * static_cast<double>(row) > pitch() - gap()) return nullptr;
    const std::vector<TimedOp>& ops = pipeline_->timeline.ranks[row];
    const double time = timeAt(at.x());
    const auto found =
        std::partition_point(ops.begin(), ops.end(), [time](const TimedOp& op) { return op.end <= time; });
    return found != ops.end() && found->start <= time ? &*found : nullptr;
}

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
    const auto every = static_cast<std::size_t>(std::ceil(13 / pitch()));
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

const TimedOp& Gantt::at(OpPlace place) const {
    return pipeline_->timeline.ranks[static_cast<std::size_t>(place.rank)][place.index];
}

OpPlace Gantt::placeOf(const TimedOp& op) const {
    return {op.rank,
            static_cast<std::size_t>(&op - pipeline_->timeline.ranks[static_cast<std::size_t>(op.rank)].data())};
}

const Causes& Gantt::causes() {
    if (!causes_) causes_.emplace(pipeline_->schedule, pipeline_->timeline);
    return *causes_;
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
        painter.drawRect(from.adjusted(1, 1, -1, -1));
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

void Gantt::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    if (!pipeline_) {
        painter.setPen(Theme::of(palette()).muted);
        painter.drawText(rect(), Qt::AlignCenter | Qt::TextWordWrap, empty_text_);
        return;
    }
    if (stale_) draw();
    painter.drawImage(QPointF(plotArea().left(), 0), picture_);
    paintLabels(painter);
    paintAxis(painter);
    paintChain(painter);
    paintFocus(painter);
}

void Gantt::writeTable(TableText& table) const {
    table.addRow({tr("rank"), tr("chunk"), tr("micro-batch"), tr("operation"), tr("start"), tr("end")});
    if (!pipeline_) return;
    for (const std::vector<TimedOp>& rank : pipeline_->timeline.ranks) {
        for (const TimedOp& timed : rank) {
            table.add(QString::number(timed.rank));
            table.add(QString::number(timed.op.chunk));
            table.add(QString::number(timed.op.micro_batch));
            static const std::array<QString, 4> names{tr("forward"), tr("backward"), tr("input backward"),
                                                      tr("weight backward")};
            table.add(names[static_cast<std::size_t>(timed.op.kind)]);
            table.add(timed.start);
            table.add(timed.end);
            table.endRow();
        }
    }
}

void Gantt::spanChanged() {
    stale_ = true;
    update();
}

void Gantt::resizeEvent(QResizeEvent* event) {
    TimeChart::resizeEvent(event);
    stale_ = true;
}

void Gantt::changeEvent(QEvent* event) {
    TimeChart::changeEvent(event);
    stale_ = true;
    update();
}

void Gantt::hover(const TimedOp* op) {
    if (op == hovered_) return;
    hovered_ = op;
    chain_ = op ? chainOf(causes(), placeOf(*op), chainLength) : std::vector<OpPlace>();
    update();
}

void Gantt::mouseMoveEvent(QMouseEvent* event) {
    TimeChart::mouseMoveEvent(event);
    hover(opAt(event->position()));
}

void Gantt::leaveEvent(QEvent* event) {
    TimeChart::leaveEvent(event);
    hover(nullptr);
}

bool Gantt::event(QEvent* event) {
    if (event->type() != QEvent::ToolTip) return TimeChart::event(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    const TimedOp* op = opAt(help->pos());
    if (op)
        QToolTip::showText(help->globalPos(), whyWords(*pipeline_, causes(), placeOf(*op)), this);
    else
        QToolTip::hideText();
    return true;
}

}  // namespace plimsoll::ui
