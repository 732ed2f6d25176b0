// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/pipeline/gantt_legend.h"

#include <QPainter>

#include "ui/pipeline/gantt_rows.h"

namespace plimsoll::ui {

namespace {

constexpr double swatch = 14, space = 6, apart = 16;

}  // namespace

GanttLegend::GanttLegend(QWidget* parent) : QWidget(parent) {
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
}

void GanttLegend::setShown(bool weights, bool chunks) {
    weights_ = weights;
    chunks_ = chunks;
    updateGeometry();
    update();
}

QList<std::pair<GanttLegend::Key, QString>> GanttLegend::keys() const {
    QList<std::pair<Key, QString>> all{{Key::Forward, tr("forward")},
                                       {Key::Backward, weights_ ? tr("input backward") : tr("backward")}};
    if (weights_) all.append({Key::Weight, tr("weight backward")});
    if (chunks_) all.append({Key::Chunk, tr("later chunk")});
    all.append({Key::Idle, tr("bubble")});
    return all;
}

QSize GanttLegend::sizeHint() const {
    const QFontMetricsF metrics(uiFont(-0.75));
    double width = 0;
    for (const auto& [key, text] : keys()) width += swatch + space + metrics.horizontalAdvance(text) + apart;
    return {static_cast<int>(width), 18};
}

void GanttLegend::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    const Theme& theme = Theme::of(palette());
    const GanttColours colours = ganttColours(theme);
    painter.setFont(uiFont(-0.75));
    const QFontMetricsF metrics(painter.font());
    double x = 0;
    for (const auto& [key, text] : keys()) {
        const QRectF box(x, (height() - 12) / 2.0, swatch, 12);
        if (key == Key::Idle) {
            painter.fillRect(box, idleColour(theme));
            painter.fillRect(box, QBrush(hatchColour(theme), Qt::BDiagPattern));
        } else {
            painter.fillRect(box, colours[key == Key::Weight ? 2 : key == Key::Backward ? 1 : 0].back());
            if (key == Key::Chunk) painter.fillRect(QRectF(box.left(), box.top(), swatch, 3), chunkColour(theme));
        }
        painter.setPen(theme.muted);
        const double wide = metrics.horizontalAdvance(text);
        painter.drawText(QRectF(x + swatch + space, 0, wide + 2, height()), Qt::AlignLeft | Qt::AlignVCenter, text);
        x += swatch + space + wide + apart;
    }
}

}  // namespace plimsoll::ui
