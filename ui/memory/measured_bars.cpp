// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/memory/measured_bars.h"

#include <algorithm>
#include <cmath>
#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>

#include "ui/common/separated_text.h"
#include "ui/common/value_format.h"
#include "ui/waterline/term_comparison.h"
#include "ui/waterline/waterline_data.h"
#include "ui/widgets/theme.h"

namespace plimsoll::ui {

namespace {

constexpr double barHeight = 18, pitch = 28;

}  // namespace

MeasuredBars::MeasuredBars(QWidget* parent) : Chart(parent) {
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(tr("Measured beside predicted memory"));
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void MeasuredBars::setMemory(const MeasuredMemory& memory) {
    memory_ = memory;
    setAccessibleDescription(
        tr("measured %1, predicted %2").arg(bytesText(memory.measured), bytesText(memory.predicted)));
    update();
}

void MeasuredBars::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    if (!memory_) return;
    const Theme& theme = Theme::of(palette());
    painter.setFont(uiFont(-0.75));
    const QFontMetricsF metrics(painter.font());
    const QString names[]{tr("measured"), tr("predicted")};
    const Bytes totals[]{memory_->measured, memory_->predicted};
    const double left = std::max(metrics.horizontalAdvance(names[0]), metrics.horizontalAdvance(names[1])) + 8;
    const double right =
        std::max(metrics.horizontalAdvance(bytesText(totals[0])), metrics.horizontalAdvance(bytesText(totals[1]))) + 8;
    const double room = std::max(20.0, width() - left - right);
    const auto most = static_cast<double>(std::max({totals[0], totals[1], Bytes{1}}));
    const auto xOf = [&](Bytes bytes) { return std::round(left + room * static_cast<double>(bytes) / most); };
    for (int bar = 0; bar < 2; ++bar) {
        const double top = 2 + bar * pitch;
        painter.setPen(theme.muted);
        painter.drawText(QRectF(0, top, left - 8, barHeight), Qt::AlignLeft | Qt::AlignVCenter, names[bar]);
        const MeasuredMemory::Kinds* kinds = bar == 1           ? &memory_->predicted_by_kind
                                             : memory_->by_kind ? &*memory_->by_kind
                                                                : nullptr;
        Bytes below = 0;
        for (std::size_t c = 0; kinds && c < kinds->size(); ++c) {
            const double from = xOf(below);
            below += (*kinds)[c];
            painter.fillRect(QRectF(from, top, xOf(below) - from, barHeight), theme.category[c]);
        }
        // The part that no kind accounts for.
        if (below < totals[bar])
            painter.fillRect(QRectF(xOf(below), top, xOf(totals[bar]) - xOf(below), barHeight), theme.muted);
        painter.setPen(theme.ink);
        painter.drawText(QRectF(xOf(std::max(below, totals[bar])) + 6, top, right, barHeight),
                         Qt::AlignLeft | Qt::AlignVCenter, bytesText(totals[bar]));
    }
    paintFocus(painter);
}

QString MeasuredBars::details() const {
    QString text = QStringLiteral("<p style='margin:0 0 4px 0'>%1</p>").arg(measuredWhere(*memory_));
    text += QStringLiteral(
                "<table cellspacing='0' cellpadding='2'><tr><td></td><td align='right'>%1&nbsp;</td><td "
                "align='right'>%2&nbsp;</td><td></td></tr>")
                .arg(tr("measured"), tr("predicted"));
    const auto row = [&text](const QString& name, const QString& measured, Bytes predicted, const QString& difference) {
        text += QStringLiteral(
                    "<tr><td>%1&nbsp;&nbsp;</td><td align='right'>%2&nbsp;</td><td align='right'>%3&nbsp;</td><td "
                    "align='right'>%4</td></tr>")
                    .arg(name.toHtmlEscaped(), measured, bytesText(predicted), difference);
    };
    for (std::size_t c = 0; c < category_names.size(); ++c) {
        const Bytes predicted = memory_->predicted_by_kind[c];
        const Bytes measured = memory_->by_kind ? (*memory_->by_kind)[c] : 0;
        if (predicted == 0 && measured == 0) continue;
        row(categoryName(static_cast<Category>(c)), memory_->by_kind ? bytesText(measured) : QStringLiteral("–"),
            predicted, memory_->by_kind ? differenceText(predicted - measured) : QString());
    }
    row(tr("Peak"), bytesText(memory_->measured), memory_->predicted,
        differenceText(memory_->predicted - memory_->measured));
    return text + QStringLiteral("</table>");
}

bool MeasuredBars::event(QEvent* event) {
    if (event->type() != QEvent::ToolTip || !memory_) return Chart::event(event);
    QToolTip::showText(static_cast<QHelpEvent*>(event)->globalPos(), details(), this);
    return true;
}

void MeasuredBars::writeTable(TableText& table) const {
    table.addRow({tr("kind"), tr("measured, bytes"), tr("predicted, bytes")});
    if (!memory_) return;
    for (std::size_t c = 0; c < category_names.size(); ++c)
        table.addRow({categoryName(static_cast<Category>(c)),
                      memory_->by_kind ? QString::number((*memory_->by_kind)[c]) : QString(),
                      QString::number(memory_->predicted_by_kind[c])});
    table.addRow({tr("peak"), QString::number(memory_->measured), QString::number(memory_->predicted)});
}

}  // namespace plimsoll::ui
