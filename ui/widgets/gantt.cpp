// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/gantt.h"

#include <algorithm>
#include <cmath>
#include <QHelpEvent>
#include <QLocale>
#include <QPainter>
#include <QToolTip>

#include "ui/models/table_text.h"
#include "ui/widgets/style_sheet.h"
#include "ui/widgets/theme.h"

namespace plimsoll::ui {

namespace {

constexpr double axisHeight = 24;
constexpr double right = 8;
constexpr int shades = 4;

QString timeText(double time) {
    const double rounded = std::round(time * 10) / 10;
    return QLocale().toString(rounded, 'f', rounded == std::floor(rounded) ? 0 : 1);
}

/// 1, 2 or 5 times a power of ten, so that at most `count` ticks fit.
double niceTick(double span, int count) {
    const double rough = span / std::max(count, 1);
    const double power = std::pow(10, std::floor(std::log10(rough)));
    for (const double step : {1.0, 2.0, 5.0})
        if (step * power >= rough) return step * power;
    return 10 * power;
}

}  // namespace

Gantt::Gantt(QWidget* parent) : Chart(parent) {
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(tr("Pipeline timeline"));
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void Gantt::setTimeline(std::optional<Timeline> timeline) {
    timeline_ = std::move(timeline);
    stale_ = true;
    if (!timeline_)
        setAccessibleDescription(empty_text_);
    else
        setAccessibleDescription(tr("%1 stages, %2 forwards long, %3 % idle")
                                     .arg(timeline_->ranks.size())
                                     .arg(timeText(timeline_->makespan), timeText(timeline_->bubble * 100)));
    updateGeometry();
    update();
}

void Gantt::setEmptyText(const QString& text) {
    empty_text_ = text;
    if (!timeline_) setAccessibleDescription(text);
    update();
}

double Gantt::rowPitch() const {
    const std::size_t rows = timeline_ ? timeline_->ranks.size() : 1;
    if (rows <= 6) return 31;
    return std::max(4.0, std::min(31.0, 220.0 / static_cast<double>(rows)));
}

QSize Gantt::sizeHint() const {
    const auto rows = static_cast<double>(timeline_ ? std::max<std::size_t>(timeline_->ranks.size(), 1) : 2);
    return {600, static_cast<int>(std::ceil(rowPitch() * rows + axisHeight))};
}

double Gantt::left() const {
    // Asked for each cell.
    if (left_ == 0) left_ = QFontMetricsF(uiFont(-0.75)).horizontalAdvance(tr("stage %1").arg(888)) + 8;
    return left_;
}

double Gantt::xOf(double time) const {
    const double room = std::max(20.0, width() - left() - right);
    return timeline_ && timeline_->makespan > 0 ? left() + room * time / timeline_->makespan : left();
}

QRectF Gantt::cell(const TimedOp& op) const {
    const double pitch = rowPitch();
    const double gap = pitch >= 16 ? 4 : 1;
    const double from = xOf(op.start);
    return {from, pitch * op.rank, xOf(op.end) - from, pitch - gap};
}

const TimedOp* Gantt::opAt(const QPointF& at) const {
    if (!timeline_) return nullptr;
    const auto row = static_cast<std::size_t>(std::max(0.0, at.y() / rowPitch()));
    if (at.y() < 0 || row >= timeline_->ranks.size()) return nullptr;
    for (const TimedOp& op : timeline_->ranks[row])
        if (cell(op).contains(at)) return &op;
    return nullptr;
}

void Gantt::paintRows(QPainter& painter) const {
    const Theme& theme = Theme::of(palette());
    const double pitch = rowPitch();
    const double gap = pitch >= 16 ? 4 : 1;
    const QColor idle = mixed(theme.surface, theme.water, theme.dark ? 0.16 : 0.1);
    // Forward in the colour of parameters, backward in that of the optimizer; the shade tells micro-batches apart.
    std::array<std::array<QColor, shades>, 3> colours;
    for (int i = 0; i < shades; ++i) {
        const double share = 0.58 + 0.42 * i / (shades - 1);
        colours[0][static_cast<std::size_t>(i)] = mixed(theme.surface, theme.category[0], share);
        colours[1][static_cast<std::size_t>(i)] = mixed(theme.surface, theme.category[2], share);
        colours[2][static_cast<std::size_t>(i)] = mixed(theme.surface, theme.category[1], share);
    }
    const QFont small = uiFont(-1.5);
    const QFontMetricsF metrics(small);
    for (std::size_t stage = 0; stage < timeline_->ranks.size(); ++stage) {
        const double top = pitch * static_cast<double>(stage);
        painter.fillRect(QRectF(left(), top, xOf(timeline_->makespan) - left(), pitch - gap), idle);
        const bool labelled = pitch >= 12 || stage % static_cast<std::size_t>(std::ceil(12 / pitch)) == 0;
        if (labelled) {
            painter.setFont(uiFont(-0.75));
            painter.setPen(theme.muted);
            painter.drawText(QRectF(0, top - (pitch < 12 ? 4 : 0), left() - 8, std::max(pitch - gap, 12.0)),
                             Qt::AlignLeft | Qt::AlignVCenter, tr("stage %1").arg(stage));
        }
        painter.setFont(small);
        for (const TimedOp& op : timeline_->ranks[stage]) {
            const QRectF area = cell(op);
            // A hairline between cells while there is room for one.
            const double inset = area.width() >= 5 ? 0.5 : 0;
            const std::size_t kind = op.op.kind == OpKind::Forward ? 0 : op.op.kind == OpKind::BackwardWeight ? 2 : 1;
            const QColor colour = colours[kind][static_cast<std::size_t>(op.op.micro_batch % shades)];
            painter.fillRect(area.adjusted(inset, 0, -inset, 0), colour);
            if (pitch < 14 || area.width() < 12) continue;
            const QString number = QString::number(op.op.micro_batch);
            if (metrics.horizontalAdvance(number) + 1 > area.width()) continue;
            painter.setPen(colour.lightnessF() > 0.52 ? QColor(0x0c1419) : QColor(Qt::white));
            painter.drawText(area, Qt::AlignCenter, number);
        }
    }
}

void Gantt::paintAxis(QPainter& painter) const {
    const Theme& theme = Theme::of(palette());
    painter.setFont(uiFont(-0.75));
    painter.setPen(theme.muted);
    const double y = height() - axisHeight;
    const QString length = tr("%1 forwards of a stage").arg(timeText(timeline_->makespan));
    const double room = painter.fontMetrics().horizontalAdvance(length) + 28;
    const double end = xOf(timeline_->makespan);
    const double tick = niceTick(timeline_->makespan, static_cast<int>((end - left()) / 80));
    for (double time = 0; time < timeline_->makespan; time += tick) {
        const double x = xOf(time);
        if (x > end - room) break;
        const Qt::Alignment align = time == 0 ? Qt::AlignLeft : Qt::AlignHCenter;
        painter.drawText(QRectF(time == 0 ? x : x - 40, y + 4, 80, axisHeight - 4), align | Qt::AlignVCenter,
                         timeText(time));
    }
    painter.drawText(QRectF(end - 260, y + 4, 260, axisHeight - 4), Qt::AlignRight | Qt::AlignVCenter, length);
}

void Gantt::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    if (!timeline_) {
        painter.setPen(Theme::of(palette()).muted);
        painter.drawText(rect(), Qt::AlignCenter | Qt::TextWordWrap, empty_text_);
        return;
    }
    const QSize size = this->size() * devicePixelRatioF();
    if (stale_ || picture_.size() != size) {
        picture_ = QPixmap(size);
        picture_.setDevicePixelRatio(devicePixelRatioF());
        picture_.fill(Qt::transparent);
        QPainter drawing(&picture_);
        paintRows(drawing);
        paintAxis(drawing);
        stale_ = false;
    }
    painter.drawPixmap(0, 0, picture_);
    paintFocus(painter);
}

void Gantt::writeTable(TableText& table) const {
    table.addRow({tr("stage"), tr("micro-batch"), tr("operation"), tr("start"), tr("end")});
    if (!timeline_) return;
    for (const std::vector<TimedOp>& stage : timeline_->ranks) {
        for (const TimedOp& op : stage) {
            table.add(QString::number(op.rank));
            table.add(QString::number(op.op.micro_batch));
            table.add(op.op.kind == OpKind::Forward ? tr("forward") : tr("backward"));
            table.add(op.start);
            table.add(op.end);
            table.endRow();
        }
    }
}

void Gantt::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    stale_ = true;
}

void Gantt::changeEvent(QEvent* event) {
    left_ = 0;
    QWidget::changeEvent(event);
    stale_ = true;
    update();
}

bool Gantt::event(QEvent* event) {
    if (event->type() != QEvent::ToolTip) return QWidget::event(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    const TimedOp* op = opAt(help->pos());
    if (!op) {
        QToolTip::hideText();
        return true;
    }
    const QString kind = op->op.kind == OpKind::Forward ? tr("forward") : tr("backward");
    QToolTip::showText(help->globalPos(),
                       tr("Stage %1, micro-batch %2, %3: %4 to %5")
                           .arg(op->rank)
                           .arg(op->op.micro_batch)
                           .arg(kind, timeText(op->start), timeText(op->end)),
                       this);
    return true;
}

}  // namespace plimsoll::ui
