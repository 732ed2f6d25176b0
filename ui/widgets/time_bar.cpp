// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/time_bar.h"

#include <algorithm>
#include <cmath>
#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>

#include "ui/common/separated_text.h"
#include "ui/common/value_format.h"
#include "ui/waterline/waterline_data.h"
#include "ui/widgets/style_sheet.h"

namespace plimsoll::ui {

namespace {

constexpr double partSwatch = 10, partSpace = 5, partsApart = 14, lineHeight = 18;
constexpr double worthAName = 0.01;

}  // namespace

QColor timePartColour(const Theme& theme, TimePart part) {
    const auto shade = [&theme](std::size_t category, double share) {
        return mixed(theme.surface, theme.category[category], share);
    };
    switch (part) {
        case TimePart::Matmul:
            return shade(2, 1);
        case TimePart::Attention:
            return shade(2, 0.72);
        case TimePart::Elementwise:
            return shade(2, 0.45);
        case TimePart::Recompute:
            return shade(1, 1);
        case TimePart::Launch:
            return shade(5, 0.5);
        case TimePart::Tensor:
            return shade(0, 1);
        case TimePart::Context:
            return shade(0, 0.75);
        case TimePart::Expert:
            return shade(0, 0.55);
        case TimePart::Pipeline:
            return shade(4, 0.6);
        case TimePart::Bubble:
            return idleColour(theme);
        case TimePart::Data:
            return shade(4, 1);
        case TimePart::Host:
            return shade(3, 0.6);
        case TimePart::Update:
            return shade(3, 1);
        case TimePart::Rest:
            return shade(5, 1);
    }
    return theme.muted;
}

TimeBar::TimeBar(QWidget* parent) : Chart(parent) {
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(tr("Where the time goes"));
    QSizePolicy policy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    policy.setHeightForWidth(true);
    setSizePolicy(policy);
}

void TimeBar::setTime(const StepTime& time, Seconds whole) {
    const int height = heightForWidth(width());
    time_ = time;
    whole_ = whole > 0 ? whole : time.total();
    shares_ = timeShares(time);
    QStringList words;
    for (const TimeShare& each : std::as_const(shares_))
        if (each.share >= worthAName)
            words << QStringLiteral("%1 %2").arg(timePartName(each.part).toLower(), percentText(each.share));
    setAccessibleDescription(tr("%1 per step: %2").arg(secondsText(time.total()), words.join(QStringLiteral(", "))));
    // The layout is asked again only where the names take more or fewer lines.
    if (heightForWidth(width()) != height) updateGeometry();
    update();
}

QRectF TimeBar::segment(TimePart part) const {
    Seconds from = 0;
    for (const TimeShare& each : shares_) {
        if (each.part == part) {
            const double left = std::round(width() * from / whole_);
            return {left, 0, std::round(width() * (from + each.seconds) / whole_) - left, barHeight};
        }
        from += each.seconds;
    }
    return {};
}

QList<TimeBar::Name> TimeBar::names(double width) const {
    const QFontMetricsF metrics(uiFont(-0.75));
    QList<Name> all;
    double x = 0, y = barHeight + 6;
    for (const TimeShare& each : shares_) {
        if (each.share < worthAName) continue;
        const QString text = QStringLiteral("%1 %2").arg(timePartName(each.part), percentText(each.share));
        const double wide = partSwatch + partSpace + metrics.horizontalAdvance(text) + 1;
        if (x > 0 && x + wide > width) {
            x = 0;
            y += lineHeight;
        }
        all.append({each, QRectF(x, y, wide, lineHeight), text});
        x += wide + partsApart;
    }
    return all;
}

int TimeBar::heightForWidth(int width) const {
    const QList<Name> all = names(width);
    return static_cast<int>(std::ceil(all.isEmpty() ? barHeight : all.constLast().place.bottom()));
}

void TimeBar::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    const Theme& theme = Theme::of(palette());
    const auto fill = [&](const QRectF& area, TimePart part) {
        painter.fillRect(area, timePartColour(theme, part));
        if (part == TimePart::Bubble) painter.fillRect(area, QBrush(hatchColour(theme), Qt::BDiagPattern));
    };
    for (const TimeShare& each : std::as_const(shares_)) fill(segment(each.part), each.part);
    painter.setFont(uiFont(-0.75));
    for (const Name& name : names(width())) {
        fill(QRectF(name.place.left(), name.place.center().y() - partSwatch / 2, partSwatch, partSwatch),
             name.share.part);
        painter.setPen(theme.muted);
        painter.drawText(name.place.adjusted(partSwatch + partSpace, 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter,
                         name.text);
    }
    paintFocus(painter);
}

bool TimeBar::event(QEvent* event) {
    if (event->type() != QEvent::ToolTip) return Chart::event(event);
    QToolTip::showText(static_cast<QHelpEvent*>(event)->globalPos(), timeDetails(time_), this);
    return true;
}

void TimeBar::writeTable(TableText& table) const {
    table.addRow({tr("part"), tr("seconds"), tr("share")});
    for (const TimeShare& each : shares_) {
        table.add(timePartName(each.part));
        table.add(each.seconds);
        table.add(each.share);
        table.endRow();
    }
}

}  // namespace plimsoll::ui
