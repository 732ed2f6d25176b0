// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/pipeline/pipeline_why.h"

#include <cmath>
#include <QCoreApplication>
#include <QLocale>
#include <QStringList>

namespace plimsoll::ui {

namespace {

struct PipelineWhy {
    Q_DECLARE_TR_FUNCTIONS(PipelineWhy)
};

constexpr int toldBack = 3;

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

/// Prevents a tooltip from breaking lines at any place.
QString unbroken(const QStringList& lines) {
    return QStringLiteral("<p style='margin:0; white-space:pre'>%1</p>").arg(lines.join(QStringLiteral("<br>")));
}

}  // namespace

QString timeText(double time) {
    // Four or five figures: nobody reads more, and the room beside a chart is needed.
    const double finest = std::abs(time) < 100 ? 100 : 10;
    const double rounded = std::round(time * finest) / finest;
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
    const QString where = pipeline.schedule.chunks > 1
                              ? PipelineWhy::tr("rank %1, stage %2")
                                    .arg(timed.rank)
                                    .arg(pipeline.schedule.stage_of(timed.rank, timed.op.chunk))
                              : PipelineWhy::tr("rank %1").arg(timed.rank);
    lines << PipelineWhy::tr("<b>%1</b> on %2: %3")
                 .arg(nameOf(pipeline, timed), where, QString::fromStdString(describe(timed.op)));
    lines << PipelineWhy::tr("%1 to %2, takes %3")
                 .arg(timeText(timed.start), timeText(timed.end), timeText(timed.end - timed.start));
    Cause cause = causes.cause(place);
    if (cause.kind == Cause::Kind::Nothing) {
        lines << PipelineWhy::tr("It starts the step: it waits for nothing.");
        return unbroken(lines);
    }
    if (cause.waited > 0) lines << PipelineWhy::tr("The rank was idle for %1 before it.").arg(timeText(cause.waited));
    lines << PipelineWhy::tr("Not earlier: %1.").arg(reason(pipeline, cause));
    // A rank that works without a pause explains nothing; the wait before it does.
    for (int told = 0; told < toldBack && cause.kind != Cause::Kind::Nothing; ++told) {
        place = cause.op;
        for (cause = causes.cause(place); cause.kind == Cause::Kind::Rank; cause = causes.cause(place))
            place = cause.op;
        const TimedOp& first = opAt(pipeline, place);
        const QString started = PipelineWhy::tr("<b>%1</b> of rank %2 at %3")
                                    .arg(nameOf(pipeline, first), QString::number(place.rank), timeText(first.start));
        lines << (cause.kind == Cause::Kind::Nothing
                      ? PipelineWhy::tr("Before that: %1 starts the step.").arg(started)
                      : PipelineWhy::tr("Before that: %1; %2.").arg(started, reason(pipeline, cause)));
    }
    return unbroken(lines);
}

}  // namespace plimsoll::ui
