// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/pipeline_why.h"

#include <cmath>
#include <QCoreApplication>
#include <QLocale>
#include <QStringList>

namespace plimsoll::ui {

namespace {

struct PipelineWhy {
    Q_DECLARE_TR_FUNCTIONS(PipelineWhy)
};

constexpr std::size_t toldBack = 5;

const TimedOp& opAt(const Pipeline& pipeline, OpPlace place) {
    return pipeline.timeline.ranks[static_cast<std::size_t>(place.rank)][place.index];
}

QString nameOf(const Pipeline& pipeline, const TimedOp& timed) {
    return QString::fromStdString(short_name(timed.op, pipeline.schedule.chunks > 1));
}

QString reason(const Pipeline& pipeline, const Cause& cause) {
    const TimedOp& earlier = opAt(pipeline, cause.op);
    const QString name = nameOf(pipeline, earlier), end = timeText(earlier.end), rank = QString::number(earlier.rank);
    if (cause.kind == Cause::Kind::Rank)
        return PipelineWhy::tr("rank %1 was busy with <b>%2</b> until %3").arg(rank, name, end);
    const QString words =
        cause.kind == Cause::Kind::Input
            ? PipelineWhy::tr("its input, <b>%1</b> of rank %2, was done at %3").arg(name, rank, end)
            : PipelineWhy::tr("its gradient, <b>%1</b> of rank %2, was done at %3").arg(name, rank, end);
    return cause.send > 0 ? PipelineWhy::tr("%1 and %2 on the way").arg(words, timeText(cause.send)) : words;
}

}  // namespace

QString timeText(double time) {
    const double rounded = std::round(time * 100) / 100;
    const int digits = rounded == std::round(rounded)                             ? 0
                       : std::abs(rounded * 10 - std::round(rounded * 10)) < 1e-9 ? 1
                                                                                  : 2;
    return QLocale().toString(rounded, 'f', digits);
}

std::vector<OpPlace> chainOf(const Causes& causes, OpPlace place, std::size_t most) {
    std::vector<OpPlace> chain{place};
    for (Cause why = causes.cause(place); why.kind != Cause::Kind::Nothing && chain.size() < most;
         why = causes.cause(chain.back()))
        chain.push_back(why.op);
    return chain;
}

QString whyWords(const Pipeline& pipeline, const Causes& causes, OpPlace place) {
    const TimedOp& timed = opAt(pipeline, place);
    QStringList lines;
    QString what = QString::fromStdString(describe(timed.op));
    lines
        << PipelineWhy::tr("<b>%1</b> on rank %2: %3").arg(nameOf(pipeline, timed), QString::number(timed.rank), what);
    lines << PipelineWhy::tr("%1 to %2, takes %3")
                 .arg(timeText(timed.start), timeText(timed.end), timeText(timed.end - timed.start));
    const std::vector<OpPlace> chain = chainOf(causes, place, toldBack);
    for (const OpPlace& later : chain) {
        const Cause cause = causes.cause(later);
        const bool first = later == place;
        if (cause.kind == Cause::Kind::Nothing) {
            lines << (first ? PipelineWhy::tr("It starts the step: it waits for nothing.")
                            : PipelineWhy::tr("%1 starts the step").arg(nameOf(pipeline, opAt(pipeline, later))));
            break;
        }
        if (first && cause.waited > 0)
            lines << PipelineWhy::tr("The rank was idle for %1 before it.").arg(timeText(cause.waited));
        const QString words = reason(pipeline, cause);
        lines << (first ? PipelineWhy::tr("Not earlier: %1").arg(words)
                        : PipelineWhy::tr("%1: %2").arg(nameOf(pipeline, opAt(pipeline, later)), words));
    }
    return lines.join(QStringLiteral("<br>"));
}

}  // namespace plimsoll::ui
