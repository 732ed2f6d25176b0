// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/waterline/time_parts.h"

#include <algorithm>
#include <QCoreApplication>
#include <QStringList>

#include "ui/common/value_format.h"
#include "ui/waterline/waterline_data.h"

namespace plimsoll::ui {

namespace {

struct TimeParts {
    Q_DECLARE_TR_FUNCTIONS(TimeParts)
};

}  // namespace

QString timePartName(TimePart part) {
    switch (part) {
        case TimePart::Matmul:
            return TimeParts::tr("Matrix products");
        case TimePart::Attention:
            return TimeParts::tr("Attention");
        case TimePart::Elementwise:
            return TimeParts::tr("Element-wise kernels");
        case TimePart::Recompute:
            return TimeParts::tr("Recomputation");
        case TimePart::Launch:
            return TimeParts::tr("Kernel-launch overhead");
        case TimePart::Tensor:
            return TimeParts::tr("TP communication");
        case TimePart::Context:
            return TimeParts::tr("Context links");
        case TimePart::Expert:
            return TimeParts::tr("Expert links");
        case TimePart::Pipeline:
            return TimeParts::tr("Sends between stages");
        case TimePart::Bubble:
            return TimeParts::tr("Pipeline bubble (formula)");
        case TimePart::Data:
            return TimeParts::tr("DP communication");
        case TimePart::Host:
            return TimeParts::tr("Transfers to the host");
        case TimePart::Update:
            return TimeParts::tr("Optimizer update");
        case TimePart::Rest:
            return TimeParts::tr("Once per step");
    }
    return {};
}

QList<TimeShare> timeShares(const StepTime& time) {
    const Seconds total = time.total();
    QList<TimeShare> shares;
    for (std::size_t i = 0; i < time.parts.size(); ++i)
        if (time.parts[i] > 0 && total > 0)
            shares.append({static_cast<TimePart>(i), time.parts[i], time.parts[i] / total});
    return shares;
}

QString secondsText(Seconds seconds) { return formatValue(ValueKind::Seconds, seconds); }

QString timeDetails(const StepTime& time) {
    QList<TimeShare> shares = timeShares(time);
    std::stable_sort(shares.begin(), shares.end(),
                     [](const TimeShare& a, const TimeShare& b) { return a.seconds > b.seconds; });
    QString text = QStringLiteral("<table cellspacing='0' cellpadding='1'>");
    for (const TimeShare& each : std::as_const(shares))
        text += QStringLiteral(
                    "<tr><td>%1&nbsp;&nbsp;</td><td align='right'>%2&nbsp;&nbsp;</td><td align='right'>%3</td></tr>")
                    .arg(timePartName(each.part).toHtmlEscaped(), secondsText(each.seconds), percentText(each.share));
    return text + QStringLiteral("</table>");
}

QString stepWords(const StepReport& report) {
    QStringList parts{TimeParts::tr("step <b>%1</b>").arg(secondsText(report.step)),
                      TimeParts::tr("<b>%1</b> tokens/s").arg(formatValue(ValueKind::Short, report.tokens_per_second)),
                      TimeParts::tr("MFU <b>%1</b>").arg(percentText(report.mfu))};
    return parts.join(QStringLiteral(" · "));
}

QString stepFact(const StepReport& report) {
    return TimeParts::tr("%1 tokens/s · MFU %2 · HFU %3")
        .arg(formatValue(ValueKind::Short, report.tokens_per_second), percentText(report.mfu), percentText(report.hfu));
}

QString stepDetails(const StepReport& report) {
    return QStringLiteral("<p style='margin:0 0 4px 0'><b>%1</b></p>%2<p style='margin:4px 0 0 0'><i>%3</i></p>")
        .arg(TimeParts::tr("Where the %1 per step go").arg(secondsText(report.step)), timeDetails(report.time),
             TimeParts::tr("HFU %1; rates: %2")
                 .arg(percentText(report.hfu), QString::fromStdString(report.hardware.source).toHtmlEscaped()));
}

}  // namespace plimsoll::ui
