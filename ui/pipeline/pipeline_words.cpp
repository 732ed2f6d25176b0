// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/pipeline/pipeline_words.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <QCoreApplication>
#include <QLocale>
#include <QStringList>

#include "core/schedule/check_schedule.h"
#include "ui/common/value_format.h"
#include "ui/waterline/waterline_data.h"

namespace plimsoll::ui {

namespace {

struct PipelineWords {
    Q_DECLARE_TR_FUNCTIONS(PipelineWords)
};

constexpr double tells = 5e-4;  // smaller differences, below half a tenth of a point, are not mentioned

double stageTime(const StageTimes& times, std::size_t stage) {
    return times.forward[stage] + times.backward_input[stage] + times.backward_weight[stage];
}

double mean(const std::vector<double>& values) {
    return values.empty() ? 0 : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// The bubble rate that the closed form describes.
double likeClosedForm(const Pipeline& pipeline, const Timeline& timeline) {
    return splits_backward(pipeline.schedule) ? timeline.bubble_per_rank : timeline.bubble;
}

/// "+0.34 points".
QString points(double share) {
    const QString number = QLocale().toString(std::abs(share) * 100, 'f', 2);
    return share < 0 ? PipelineWords::tr("−%1 points").arg(number) : PipelineWords::tr("+%1 points").arg(number);
}

QString ratio(double value) { return QLocale().toString(value, 'f', 2); }

}  // namespace

QString batchesText(double microBatches) {
    const double rounded = std::round(microBatches * 100) / 100;
    return QLocale().toString(rounded, 'g', 6);
}

double imbalance(const Pipeline& pipeline) {
    const std::vector<Seconds>& busy = pipeline.timeline.busy;
    const double average = mean(busy);
    return average > 0 ? *std::max_element(busy.begin(), busy.end()) / average : 1;
}

QString shapeWords(const Pipeline& pipeline) {
    const PipelineSchedule& shape = pipeline.schedule;
    QString words =
        PipelineWords::tr("%1, %2, %3")
            .arg(QString::fromStdString(pipeline_title(pipeline)),
                 shape.ranks == 1 ? PipelineWords::tr("1 rank")
                                  : PipelineWords::tr("%1 ranks").arg(countText(shape.ranks)),
                 shape.micro_batches == 1 ? PipelineWords::tr("1 micro-batch")
                                          : PipelineWords::tr("%1 micro-batches").arg(countText(shape.micro_batches)));
    if (shape.chunks > 1) words += PipelineWords::tr(", %1 chunks per rank").arg(countText(shape.chunks));
    return words;
}

QList<Figure> pipelineFigures(const Pipeline& pipeline, double batchBytes) {
    const Timeline& timeline = pipeline.timeline;
    QList<Figure> figures;
    figures << Figure{PipelineWords::tr("Bubble"), percentText(timeline.bubble),
                      PipelineWords::tr("simulated, all ranks wait for the last")};
    if (pipeline.closed_form)
        figures << Figure{PipelineWords::tr("Closed form"), percentText(pipeline.closed_form->bubble),
                          PipelineWords::tr("%1 · %2").arg(QString::fromStdString(pipeline.closed_form->formula),
                                                           QString::fromStdString(pipeline.closed_form->source))};
    else
        figures << Figure{PipelineWords::tr("Closed form"), PipelineWords::tr("none"),
                          pipeline.file.empty() ? PipelineWords::tr("the schedule is found by search")
                                                : PipelineWords::tr("the list comes from a file")};
    if (splits_backward(pipeline.schedule))
        figures << Figure{PipelineWords::tr("Bubble per rank"), percentText(timeline.bubble_per_rank),
                          PipelineWords::tr("each rank starts its next step early")};
    const double peak = peak_micro_batches(pipeline.schedule);
    QString held = peak == 1 ? PipelineWords::tr("micro-batch on the fullest rank")
                             : PipelineWords::tr("micro-batches on the fullest rank");
    if (batchBytes > 0)
        held = PipelineWords::tr("%1, about %2").arg(held, bytesText(static_cast<Bytes>(peak * batchBytes)));
    figures << Figure{PipelineWords::tr("Peak activations"), batchesText(peak), held};
    figures << Figure{PipelineWords::tr("Imbalance"), QLocale().toString(imbalance(pipeline), 'f', 3),
                      PipelineWords::tr("slowest rank beside the mean")};
    return figures;
}

QString slowestWords(const Pipeline& pipeline) {
    std::vector<double> stages;
    for (std::size_t stage = 0; stage < pipeline.times.forward.size(); ++stage)
        stages.push_back(stageTime(pipeline.times, stage));
    const double average = mean(stages);
    if (stages.size() < 2 || average <= 0) return {};
    const auto most = std::max_element(stages.begin(), stages.end());
    const double factor = *most / average;
    if (factor < 1.005) return {};
    const auto stage = most - stages.begin();
    if (most == std::prev(stages.end()))
        return PipelineWords::tr("the last stage holds the head and takes %1 times the mean").arg(ratio(factor));
    return PipelineWords::tr("stage %1 holds more layers and takes %2 times the mean").arg(stage).arg(ratio(factor));
}

QString differenceWords(const Pipeline& pipeline) {
    if (!pipeline.closed_form || pipeline.schedule.ranks < 2) return {};
    const double form = pipeline.closed_form->bubble, simulated = likeClosedForm(pipeline, pipeline.timeline);
    if (std::abs(form - simulated) < tells)
        return PipelineWords::tr("The simulation agrees with the closed form: stages alike, sends that cost nothing.");
    StageTimes noSends = pipeline.times;
    noSends.send.clear();
    StageTimes alike = StageTimes::uniform(noSends.stages(), mean(noSends.forward), mean(noSends.backward_input),
                                           mean(noSends.backward_weight));
    const Result<Timeline> unsent = simulate(pipeline.schedule, noSends);
    const Result<Timeline> equal = simulate(pipeline.schedule, alike);
    if (!unsent || !equal) return {};
    const double sends = simulated - likeClosedForm(pipeline, *unsent);
    const double stages = likeClosedForm(pipeline, *unsent) - likeClosedForm(pipeline, *equal);
    const double rest = likeClosedForm(pipeline, *equal) - form;
    QStringList reasons;
    if (std::abs(stages) >= tells) {
        const QString slowest = slowestWords(pipeline);
        reasons << PipelineWords::tr("%1 from unequal stages%2")
                       .arg(points(stages), slowest.isEmpty() ? QString() : PipelineWords::tr(" (%1)").arg(slowest));
    }
    if (std::abs(sends) >= tells) reasons << PipelineWords::tr("%1 from communication").arg(points(sends));
    if (std::abs(rest) >= tells)
        reasons << PipelineWords::tr("%1 as the formula stands for many micro-batches and the times of its paper")
                       .arg(points(rest));
    return reasons.isEmpty() ? QString()
                             : PipelineWords::tr("vs the formula: %1.").arg(reasons.join(QStringLiteral("; ")));
}

QString comparisonWords(const Pipeline& first, const Pipeline& second) {
    const double before = first.timeline.makespan, after = second.timeline.makespan;
    const QString name = QString::fromStdString(pipeline_title(second));
    if (first.schedule.ops == second.schedule.ops && first.times == second.times)
        return PipelineWords::tr("%1 is the pipeline above.").arg(name);
    const double saved = before > 0 ? 1 - after / before : 0;
    const QString step = std::abs(saved) < tells ? PipelineWords::tr("takes as long")
                         : saved > 0             ? PipelineWords::tr("saves %1 of the step").arg(percentText(saved))
                                                 : PipelineWords::tr("takes %1 longer").arg(percentText(-saved));
    const double had = peak_micro_batches(first.schedule), has = peak_micro_batches(second.schedule);
    const QString memory = has == had
                               ? PipelineWords::tr("keeps as many activations (%1 micro-batches)").arg(batchesText(has))
                           : has < had ? PipelineWords::tr("keeps fewer activations: %1 micro-batches, not %2")
                                             .arg(batchesText(has), batchesText(had))
                                       : PipelineWords::tr("keeps more activations: %1 micro-batches, not %2")
                                             .arg(batchesText(has), batchesText(had));
    return PipelineWords::tr("%1 %2 and %3. Bubble %4, not %5.")
        .arg(name, step, memory, percentText(second.timeline.bubble), percentText(first.timeline.bubble));
}

}  // namespace plimsoll::ui
