// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/category_legend.h"

#include <QPainter>

#include "core/allocator/memory_trace.h"
#include "ui/waterline/waterline_data.h"
#include "ui/widgets/theme.h"

namespace plimsoll::ui {

namespace {

constexpr double swatch = 12, space = 6, apart = 16;

}  // namespace

CategoryLegend::CategoryLegend(QWidget* parent) : QWidget(parent) {
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
}

void CategoryLegend::setShowsReserved(bool shows) {
    reserved_ = shows;
    update();
}

void CategoryLegend::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    const Theme& theme = Theme::of(palette());
    painter.setFont(uiFont(-0.75));
    double x = 0;
    const auto name = [&](const QString& text) {
        painter.setPen(theme.muted);
        const double wide = painter.fontMetrics().horizontalAdvance(text);
        painter.drawText(QRectF(x + swatch + space, 0, wide + 2, height()), Qt::AlignLeft | Qt::AlignVCenter, text);
        x += swatch + space + wide + apart;
    };
    for (std::size_t c = 0; c < memory_categories; ++c) {
        painter.fillRect(QRectF(x, (height() - swatch) / 2, swatch, swatch), theme.category[c]);
        name(categoryName(static_cast<Category>(c)));
    }
    if (!reserved_) return;
    painter.setPen(QPen(theme.ink, 1.5));
    painter.drawLine(QPointF(x, height() / 2.0), QPointF(x + swatch, height() / 2.0));
    name(tr("reserved by the allocator"));
}

}  // namespace plimsoll::ui
