// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/line_plot.h"

#include <algorithm>
#include <cmath>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QToolButton>
#include <QWheelEvent>

#include "ui/plots/plot_painter.h"

namespace plimsoll::ui {

namespace {

constexpr double zoomStep = 1.25;

QToolButton* cornerButton(QWidget* parent, const QString& text, const QString& name, const QString& tip) {
    auto* button = new QToolButton(parent);
    button->setText(text);
    button->setAccessibleName(name);
    button->setToolTip(tip);
    button->setStyleSheet(QStringLiteral("QToolButton { padding: 0 6px; border-radius: 4px; }"));
    button->setFocusPolicy(Qt::NoFocus);  // the plot's keys do the same work
    button->setFont(uiFont(-1.5));
    button->setCursor(Qt::ArrowCursor);
    button->hide();
    return button;
}

}  // namespace

LinePlot::LinePlot(const QString& title, StepAxis* axis, QWidget* parent)
    : Chart(parent),
      axis_(axis),
      log_(cornerButton(this, tr("log"), tr("Logarithmic scale of %1").arg(title), tr("Logarithmic scale (L)"))),
      reset_(cornerButton(this, tr("whole run"), tr("Show the whole run in %1").arg(title),
                          tr("Show the whole run and follow it (Home, or double click)"))) {
    setAccessibleName(title);
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
    setFont(uiFont(-1.5));
    setCursor(Qt::CrossCursor);
    log_->setCheckable(true);
    connect(log_, &QToolButton::toggled, this, &LinePlot::setLogScale);
    connect(reset_, &QToolButton::clicked, axis_, &StepAxis::follow);
    connect(axis_, &StepAxis::changed, this, &LinePlot::invalidate);
    connect(axis_, &StepAxis::cursorChanged, this, qOverload<>(&QWidget::update));
}

LinePlot::~LinePlot() = default;

void LinePlot::setContent(PlotContent content) {
    painter_.reset();
    content_ = std::move(content);
    log_->setChecked(content_.log_scale);
    dataChanged();
}

void LinePlot::setFlags(std::vector<PlotFlag> flags) {
    painter_.reset();
    content_.flags = std::move(flags);
    invalidate();
}

void LinePlot::dataChanged() {
    invalidate();
    const QString text = firstData() == nullptr ? content_.empty_text : readout(axis_->latest());
    if (text != accessibleDescription()) setAccessibleDescription(text);
}

void LinePlot::setLogScale(bool on) {
    if (on == content_.log_scale || content_.kind == ValueKind::PowerOfTwo) return;
    content_.log_scale = on;
    log_->setChecked(on);
    invalidate();
}

const Pyramid* LinePlot::firstData() const {
    for (const PlotLine& line : content_.lines) {
        const Pyramid* points = line.data ? line.data() : nullptr;
        if (points != nullptr && points->size() > 0) return points;
    }
    return nullptr;
}

std::optional<double> LinePlot::valueAt(std::size_t line, double step) const {
    if (line >= content_.lines.size() || !content_.lines[line].data) return std::nullopt;
    const Pyramid* points = content_.lines[line].data();
    if (points == nullptr || points->size() == 0) return std::nullopt;
    const auto begin = static_cast<double>(points->step(0)),
               end = static_cast<double>(points->step(points->size() - 1));
    if (content_.lines[line].left && (step < begin || step > end)) return std::nullopt;
    const auto index = pointAt(*points, step);
    if (content_.lines[line].sparse && index && static_cast<double>(points->step(*index)) != step) return std::nullopt;
    return index ? std::optional(points->value(*index)) : std::nullopt;
}

QString LinePlot::readout(double step) const {
    QStringList values;
    for (std::size_t i = 0; i < content_.lines.size(); ++i)
        if (const auto value = valueAt(i, step))
            values << QStringLiteral("%1 %2").arg(content_.lines[i].name, formatValue(content_.kind, *value));
    return tr("step %1: %2").arg(formatStep(step), values.join(QStringLiteral(", ")));
}

void LinePlot::render(QPainter& painter, QRectF area, qreal ratio) const {
    PlotPainter(content_, *axis_, Theme::of(palette()), font(), area, ratio).paint(painter);
}

void LinePlot::invalidate() {
    painter_.reset();
    placeButtons();
    update();
}

QRectF LinePlot::frame() const { return PlotPainter::frameOf(content_, rect(), font()); }
StepRange LinePlot::shown() const { return PlotPainter::shownRange(content_, *axis_); }

double LinePlot::stepAt(double x) const {
    const QRectF area = frame();
    const StepRange range = shown();
    return range.from + (x - area.left()) / std::max(1.0, area.width()) * range.width();
}

void LinePlot::paintEvent(QPaintEvent*) {
    const qreal ratio = devicePixelRatioF();
    const QSize pixels = (QSizeF(size()) * ratio).toSize();
    const Theme& theme = Theme::of(palette());
    if (!painter_ || base_.size() != pixels || base_.devicePixelRatio() != ratio) {
        painter_ = std::make_unique<PlotPainter>(content_, *axis_, theme, font(), rect(), ratio);
        base_ = QPixmap(pixels);
        base_.setDevicePixelRatio(ratio);
        base_.fill(Qt::transparent);
        QPainter painter(&base_);
        painter_->paint(painter);
    }
    QPainter painter(this);
    painter.drawPixmap(0, 0, base_);
    if (box_from_) {
        const QRectF box = QRectF(*box_from_, box_to_).normalized() & frame();
        QColor fill = theme.accent;
        fill.setAlphaF(0.15F);
        painter.fillRect(QRectF(box.left(), frame().top(), box.width(), frame().height()), fill);
    } else {
        painter_->paintCursor(painter, hovered_ || hasFocus());
    }
    if (hasFocus()) {
        painter.setPen(QPen(theme.accent, 1));
        painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4);
    }
}

void LinePlot::placeButtons() {
    const bool has_data = firstData() != nullptr;
    const bool active = hovered_ || hasFocus();
    log_->setVisible(has_data && content_.kind != ValueKind::PowerOfTwo && (active || content_.log_scale));
    reset_->setVisible(has_data && active && !axis_->following());
    int right = width();
    for (QToolButton* button : {log_, reset_}) {
        if (button->isHidden()) continue;
        button->resize(button->sizeHint());
        right -= button->width();
        button->move(right, 0);
        right -= 4;
    }
}

void LinePlot::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    invalidate();
}

void LinePlot::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::StyleChange ||
        event->type() == QEvent::FontChange || event->type() == QEvent::LocaleChange)
        invalidate();
}

void LinePlot::wheelEvent(QWheelEvent* event) {
    if (firstData() == nullptr) {
        event->ignore();  // an empty plot lets the page scroll
        return;
    }
    const QPointF angle = event->angleDelta();
    // The wheel alone scrolls the page that the plot is on.
    if (std::abs(angle.y()) >= std::abs(angle.x()) && !(event->modifiers() & Qt::ControlModifier)) {
        event->ignore();
        return;
    }
    if (std::abs(angle.x()) > std::abs(angle.y())) {
        axis_->show(StepAxis::panned(shown(), -angle.x() / 1200 * shown().width()));
    } else if (angle.y() != 0) {
        axis_->show(StepAxis::zoomed(shown(), std::pow(zoomStep, -angle.y() / 120), stepAt(event->position().x())));
    }
    event->accept();
}

void LinePlot::mousePressEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton || firstData() == nullptr) return;
    if (event->modifiers() & Qt::ShiftModifier) {
        box_from_ = box_to_ = event->position();
    } else {
        drag_from_ = event->position();
        drag_range_ = shown();
    }
}

void LinePlot::mouseMoveEvent(QMouseEvent* event) {
    hovered_ = true;
    if (box_from_) {
        box_to_ = event->position();
        update();
    } else if (drag_from_) {
        const double pixels = drag_from_->x() - event->position().x();
        if (std::abs(pixels) < 3 && drag_range_ == shown()) return;  // a click that trembles is no pan
        setCursor(Qt::ClosedHandCursor);
        axis_->show(StepAxis::panned(drag_range_, pixels / std::max(1.0, frame().width()) * drag_range_.width()));
    } else {
        if (frame().adjusted(-4, -8, 8, 8).contains(event->position()))
            moveCursor(stepAt(event->position().x()));
        else
            axis_->setCursor(std::nullopt);
        placeButtons();
    }
}

void LinePlot::mouseReleaseEvent(QMouseEvent* event) {
    setCursor(Qt::CrossCursor);
    drag_from_.reset();
    if (!box_from_) return;
    const double from = stepAt(std::min(box_from_->x(), event->position().x()));
    const double to = stepAt(std::max(box_from_->x(), event->position().x()));
    const bool wide = std::abs(box_from_->x() - event->position().x()) > 4;
    box_from_.reset();
    if (wide) axis_->show({from, to});
    update();
}

void LinePlot::mouseDoubleClickEvent(QMouseEvent* event) {
    if (event->button() == Qt::LeftButton) axis_->follow();
}

void LinePlot::leaveEvent(QEvent*) {
    hovered_ = false;
    axis_->setCursor(std::nullopt);
    placeButtons();
    update();
}

void LinePlot::focusInEvent(QFocusEvent* event) {
    QWidget::focusInEvent(event);
    placeButtons();
}

void LinePlot::focusOutEvent(QFocusEvent* event) {
    QWidget::focusOutEvent(event);
    placeButtons();
}

void LinePlot::moveCursor(double step) {
    const Pyramid* points = firstData();
    axis_->setCursor(points == nullptr ? std::nullopt : nearestStep(*points, step));
}

void LinePlot::moveCursorByPoint(int direction) {
    const Pyramid* points = firstData();
    if (points == nullptr) return;
    const double at = axis_->cursor().value_or(axis_->latest());
    auto index = static_cast<std::ptrdiff_t>(pointAt(*points, at).value_or(0));
    if (axis_->cursor()) index += direction;
    index = std::clamp<std::ptrdiff_t>(index, 0, static_cast<std::ptrdiff_t>(points->size()) - 1);
    axis_->reveal(static_cast<double>(points->step(static_cast<std::size_t>(index))));
    setAccessibleDescription(readout(*axis_->cursor()));
}

void LinePlot::keyPressEvent(QKeyEvent* event) {
    const StepRange range = shown();
    const double centre = axis_->cursor().value_or((range.from + range.to) / 2);
    const bool shift = event->modifiers() & Qt::ShiftModifier;
    switch (event->key()) {
        case Qt::Key_Plus:
        case Qt::Key_Equal:
            axis_->show(StepAxis::zoomed(range, 1 / zoomStep, centre));
            break;
        case Qt::Key_Minus:
            axis_->show(StepAxis::zoomed(range, zoomStep, centre));
            break;
        case Qt::Key_Left:
        case Qt::Key_Right: {
            const int direction = event->key() == Qt::Key_Left ? -1 : 1;
            if (shift)
                moveCursorByPoint(direction);
            else
                axis_->show(StepAxis::panned(range, direction * range.width() / 10));
            break;
        }
        case Qt::Key_Home:
            axis_->follow();
            break;
        case Qt::Key_L:
            setLogScale(!content_.log_scale);
            break;
        default:
            QWidget::keyPressEvent(event);
    }
}

}  // namespace plimsoll::ui
