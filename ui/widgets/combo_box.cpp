// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/combo_box.h"

#include <QPainter>
#include <QPainterPath>
#include <QStyledItemDelegate>
#include <QWheelEvent>

#include "ui/widgets/theme.h"

namespace plimsoll::ui {

ComboBox::ComboBox(QWidget* parent) : QComboBox(parent) {
    setFocusPolicy(Qt::StrongFocus);
    // A list of rows as everywhere else, not a menu of the style's own colours.
    setItemDelegate(new QStyledItemDelegate(this));
}

void ComboBox::paintEvent(QPaintEvent* event) {
    QComboBox::paintEvent(event);
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const Theme& theme = Theme::of(palette());
    const QPointF middle(width() - 12.5, height() / 2.0 + 0.5);
    QPainterPath arrow;
    arrow.moveTo(middle + QPointF(-3.5, -2));
    arrow.lineTo(middle + QPointF(3.5, -2));
    arrow.lineTo(middle + QPointF(0, 2.5));
    arrow.closeSubpath();
    painter.fillPath(arrow, isEnabled() ? theme.ink : theme.muted);
}

void ComboBox::wheelEvent(QWheelEvent* event) {
    if (hasFocus())
        QComboBox::wheelEvent(event);
    else
        event->ignore();
}

}  // namespace plimsoll::ui
