// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/category_legend.h"

#include <QPainter>

#include "core/allocator/memory_trace.h"
#include "ui/waterline/waterline_data.h"
#include "ui/widgets/theme.h"

namespace plimsoll::ui {

namespace {

constexpr double swatch = 12, space = 6, apart = 16, rowHeight = 20;

}  // namespace

CategoryLegend::CategoryLegend(QWidget* parent) : QWidget(parent) {
    QSizePolicy policy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    policy.setHeightForWidth(true);
    setSizePolicy(policy);
}

void CategoryLegend::setShowsReserved(bool shows) {
    if (reserved_ == shows) return;
    reserved_ = shows;
    updateGeometry();
    update();
}

QList<CategoryLegend::Entry> CategoryLegend::placed(double width) const {
    const QFontMetricsF metrics(uiFont(-0.75));
    QStringList names;
    for (std::size_t c = 0; c < memory_categories; ++c) names.append(categoryName(static_cast<Category>(c)));
    if (reserved_) names.append(tr("reserved by the allocator"));
    QList<Entry> entries;
    double x = 0, y = 0;
    for (const QString& name : names) {
        const double wide = swatch + space + metrics.horizontalAdvance(name) + 2;
        if (x > 0 && x + wide > width) {
            x = 0;
            y += rowHeight;
        }
        entries.append({name, QRectF(x, y, wide, rowHeight)});
        x += wide + apart;
    }
    return entries;
}

int CategoryLegend::heightForWidth(int width) const { return static_cast<int>(placed(width).last().place.bottom()); }

void CategoryLegend::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    const Theme& theme = Theme::of(palette());
    painter.setFont(uiFont(-0.75));
    const QList<Entry> entries = placed(width());
    for (qsizetype i = 0; i < entries.size(); ++i) {
        const auto& [name, place] = entries[i];
        const double middle = place.center().y();
        if (static_cast<std::size_t>(i) < memory_categories) {
            painter.fillRect(QRectF(place.left(), middle - swatch / 2, swatch, swatch),
                             theme.category[static_cast<std::size_t>(i)]);
        } else {
            painter.setPen(QPen(theme.ink, 1.5));
            painter.drawLine(QPointF(place.left(), middle), QPointF(place.left() + swatch, middle));
        }
        painter.setPen(theme.muted);
        painter.drawText(place.adjusted(swatch + space, 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter, name);
    }
}

}  // namespace plimsoll::ui
