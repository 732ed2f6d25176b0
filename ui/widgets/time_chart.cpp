// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/time_chart.h"

#include <algorithm>
#include <cmath>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolButton>
#include <QWheelEvent>

#include "ui/pipeline/pipeline_why.h"
#include "ui/widgets/theme.h"

namespace plimsoll::ui {

namespace {

constexpr double zoomStep = 1.25;

/// 1, 2 or 5 times a power of ten, so that at most `count` ticks fit.
double niceTick(double span, int count) {
    const double rough = span / std::max(count, 1);
    const double power = std::pow(10, std::floor(std::log10(rough)));
    for (const double step : {1.0, 2.0, 5.0})
        if (step * power >= rough) return step * power;
    return 10 * power;
}

}  // namespace

TimeChart::TimeChart(const QString& name, QWidget* parent) : Chart(parent), reset_(new QToolButton(this)) {
    reset_->setText(tr("Show all"));
    reset_->setProperty("quiet", true);
    reset_->setFont(uiFont(-1.5));
    reset_->setCursor(Qt::PointingHandCursor);
    reset_->setAccessibleName(tr("Show the whole time of %1").arg(name));
    reset_->setToolTip(tr("Shows the whole time again (Home, or double click)"));
    reset_->hide();
    connect(reset_, &QToolButton::clicked, this, [this] { span_->showWhole(); });
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(name);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    connect(span_, &TimeSpan::changed, this, [this] {
        placeReset();
        spanChanged();
    });
}

void TimeChart::placeReset() {
    reset_->setVisible(zoomable_ && !span_->isWhole() && !isEmpty());
    reset_->adjustSize();
    reset_->move(width() - reset_->width() - 2, 2);
    reset_->raise();
}

void TimeChart::resizeEvent(QResizeEvent* event) {
    Chart::resizeEvent(event);
    placeReset();
}

void TimeChart::setSpan(TimeSpan* span) {
    disconnect(span_, nullptr, this, nullptr);
    span_ = span;
    connect(span_, &TimeSpan::changed, this, [this] {
        placeReset();
        spanChanged();
    });
    placeReset();
    spanChanged();
}

void TimeChart::setZoomable(bool zoomable) { zoomable_ = zoomable; }

QRectF TimeChart::plotArea() const {
    if (left_ == 0) {
        const QFontMetricsF metrics(uiFont(-0.75));
        left_ = std::max(metrics.horizontalAdvance(tr("rank %1").arg(888)),
                         metrics.horizontalAdvance(QStringLiteral("888.8 GiB"))) +
                8;
        right_ = metrics.horizontalAdvance(QStringLiteral("8,888 · 88.8 %")) + 8;
    }
    return {left_, 0, std::max(20.0, width() - left_ - right_), static_cast<double>(height())};
}

double TimeChart::xOf(double time) const {
    const QRectF area = plotArea();
    return area.left() + area.width() * (time - span_->from()) / span_->width();
}

double TimeChart::timeAt(double x) const {
    const QRectF area = plotArea();
    return span_->from() + (x - area.left()) / area.width() * span_->width();
}

void TimeChart::paintAxis(QPainter& painter) const {
    painter.setFont(uiFont(-0.75));
    painter.setPen(Theme::of(palette()).muted);
    const QRectF area = plotArea();
    const double y = height() - axisHeight + 3;
    const double tick = niceTick(span_->width(), static_cast<int>(area.width() / 80));
    for (double time = std::ceil(span_->from() / tick) * tick; time <= span_->to() + tick * 1e-6; time += tick) {
        const double x = std::clamp(xOf(time) - 40, area.left(), area.right() - 80);
        const Qt::Alignment align = x == area.left()         ? Qt::AlignLeft
                                    : x == area.right() - 80 ? Qt::AlignRight
                                                             : Qt::AlignHCenter;
        painter.drawText(QRectF(x, y, 80, axisHeight - 4), align | Qt::AlignVCenter, timeText(time));
    }
}

void TimeChart::wheelEvent(QWheelEvent* event) {
    const double angle = event->angleDelta().y();
    // The wheel alone scrolls the page that the chart is on.
    if (!zoomable_ || isEmpty() || angle == 0 || !(event->modifiers() & Qt::ControlModifier)) {
        event->ignore();
        return;
    }
    span_->zoom(std::pow(zoomStep, -angle / 120), timeAt(event->position().x()));
    event->accept();
}

void TimeChart::mousePressEvent(QMouseEvent* event) {
    if (zoomable_ && event->button() == Qt::LeftButton) dragged_ = event->position().x();
}

void TimeChart::mouseMoveEvent(QMouseEvent* event) {
    if (!dragged_) return;
    const double x = event->position().x();
    span_->pan((*dragged_ - x) / plotArea().width() * span_->width());
    dragged_ = x;
}

void TimeChart::mouseReleaseEvent(QMouseEvent*) { dragged_.reset(); }

void TimeChart::mouseDoubleClickEvent(QMouseEvent*) {
    if (zoomable_) span_->showWhole();
}

void TimeChart::keyPressEvent(QKeyEvent* event) {
    const double middle = (span_->from() + span_->to()) / 2;
    switch (zoomable_ ? event->key() : 0) {
        case Qt::Key_Plus:
        case Qt::Key_Equal:
            span_->zoom(1 / zoomStep, middle);
            break;
        case Qt::Key_Minus:
            span_->zoom(zoomStep, middle);
            break;
        case Qt::Key_Left:
            span_->pan(-span_->width() / 10);
            break;
        case Qt::Key_Right:
            span_->pan(span_->width() / 10);
            break;
        case Qt::Key_Home:
            span_->showWhole();
            break;
        default:
            Chart::keyPressEvent(event);
    }
}

void TimeChart::changeEvent(QEvent* event) {
    left_ = right_ = 0;
    Chart::changeEvent(event);
}

}  // namespace plimsoll::ui
