// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/pipeline/gantt.h"

#include <algorithm>
#include <cmath>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QToolTip>

#include "ui/common/separated_text.h"
#include "ui/common/value_format.h"
#include "ui/pipeline/ran_pipeline.h"
#include "ui/waterline/waterline_data.h"

namespace plimsoll::ui {

namespace {

constexpr double tallest = 31;
constexpr std::size_t chainLength = 60;

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
        const QString words =
            predicted_ ? tr("%1 ranks, %2 ms long, %3 idle") : tr("%1 ranks, %2 forwards long, %3 idle");
        setAccessibleDescription(
            words.arg(timeline.ranks.size()).arg(timeText(timeline.makespan), percentText(timeline.bubble)));
    }
    if (rows() != before) updateGeometry();
    update();
}

void Gantt::setPredicted(std::shared_ptr<const Pipeline> predicted) {
    if (predicted == predicted_) return;
    hover(nullptr);
    predicted_ = std::move(predicted);
    update();
}

QRectF Gantt::predictedCell(OpPlace place) const {
    return predicted_ ? cell(predicted_->timeline.ranks[static_cast<std::size_t>(place.rank)][place.index]) : QRectF();
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

void Gantt::writeTable(TableText& table) const {
    QStringList headers{tr("rank"), tr("chunk"), tr("micro-batch"), tr("operation"), tr("start"), tr("end")};
    if (predicted_) headers << tr("predicted start") << tr("predicted end");
    table.addRow(headers);
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
            if (predicted_) {
                const OpPlace place = placeOf(timed);
                const TimedOp& said = predicted_->timeline.ranks[static_cast<std::size_t>(place.rank)][place.index];
                table.add(said.start);
                table.add(said.end);
            }
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
    // Waits have known reasons only in a simulation.
    chain_ = !op          ? std::vector<OpPlace>()
             : predicted_ ? std::vector<OpPlace>{placeOf(*op)}
                          : chainOf(causes(), placeOf(*op), chainLength);
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

void Gantt::explain(const TimedOp& op, const QPoint& global) {
    const OpPlace place = placeOf(op);
    QToolTip::showText(global,
                       predicted_ ? ranOpWords(*pipeline_, *predicted_, place.rank, place.index)
                                  : whyWords(*pipeline_, causes(), place),
                       this);
}

void Gantt::step(int by, int rows) {
    OpPlace place = hovered_ ? placeOf(*hovered_) : OpPlace();
    if (rows != 0) {
        const int rank = std::clamp(place.rank + rows, 0, static_cast<int>(this->rows()) - 1);
        // The operation at the same time, or the next one.
        const double time = hovered_ ? (hovered_->start + hovered_->end) / 2 : 0;
        const std::vector<TimedOp>& ops = pipeline_->timeline.ranks[static_cast<std::size_t>(rank)];
        const auto found =
            std::partition_point(ops.begin(), ops.end(), [time](const TimedOp& op) { return op.end <= time; });
        place = {rank, static_cast<std::size_t>(found - ops.begin())};
    } else if (hovered_) {
        place.index = by < 0 && place.index == 0 ? 0 : place.index + static_cast<std::size_t>(by);
    }
    place.index = std::min(place.index, pipeline_->timeline.ranks[static_cast<std::size_t>(place.rank)].size() - 1);
    const TimedOp& op = at(place);
    if (op.end > span()->to() || op.start < span()->from())
        span()->pan((op.start + op.end - span()->from() - span()->to()) / 2);
    hover(&op);
    explain(op, mapToGlobal(cell(op).bottomLeft().toPoint()));
}

void Gantt::keyPressEvent(QKeyEvent* event) {
    const bool walks = pipeline_ && event->modifiers() & Qt::ShiftModifier;
    switch (walks ? event->key() : 0) {
        case Qt::Key_Left:
            return step(-1, 0);
        case Qt::Key_Right:
            return step(1, 0);
        case Qt::Key_Up:
            return step(0, -1);
        case Qt::Key_Down:
            return step(0, 1);
        default:
            TimeChart::keyPressEvent(event);
    }
}

bool Gantt::event(QEvent* event) {
    if (event->type() != QEvent::ToolTip) return TimeChart::event(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    const TimedOp* op = opAt(help->pos());
    if (op)
        explain(*op, help->globalPos());
    else
        QToolTip::hideText();
    return true;
}

}  // namespace plimsoll::ui
