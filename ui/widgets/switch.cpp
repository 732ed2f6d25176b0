// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/switch.h"

#include <QPainter>

#include "ui/widgets/theme.h"

namespace plimsoll::ui {

Switch::Switch(QWidget* parent) : QCheckBox(parent) {
    setFixedSize(sizeHint());
    setCursor(Qt::PointingHandCursor);
}

void Switch::paintEvent(QPaintEvent*) {
    const Theme& theme = Theme::of(palette());
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const QRectF track(1.5, 3.5, width() - 3, height() - 7);
    painter.setPen(QPen(hasFocus() ? theme.ink : (isChecked() ? theme.accent : theme.muted), hasFocus() ? 1.5 : 1));
    painter.setBrush(isChecked() ? theme.accent : theme.raised);
    painter.drawRoundedRect(track, track.height() / 2, track.height() / 2);
    const double radius = track.height() / 2 - 3;
    const double x = isChecked() ? track.right() - radius - 3 : track.left() + radius + 3;
    painter.setPen(Qt::NoPen);
    painter.setBrush(isChecked() ? theme.accentInk : theme.muted);
    painter.drawEllipse(QPointF(x, track.center().y()), radius, radius);
}

}  // namespace plimsoll::ui
