// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/pipeline_advice.h"

#include <algorithm>
#include <QCoreApplication>

#include "core/schedule/check.h"
#include "core/schedule/partition.h"
#include "ui/models/pipeline_words.h"
#include "ui/models/waterline_data.h"

namespace plimsoll::ui {

namespace {

struct PipelineAdvice {
    Q_DECLARE_TR_FUNCTIONS(PipelineAdvice)
};

constexpr double noteworthy = 0.98;
constexpr std::int64_t fewestLayers = 4;
constexpr int mostRanks = 8;
constexpr int mostMicroBatches = 2048;  // beyond that the bubble is not worth simulating again

Advice say(bool good, const QString& words) { return {good ? QStringLiteral("good") : QStringLiteral("warn"), words}; }

Advice layersAdvice(const WhatIf& tried, const Plan& plan) {
    const std::vector<std::int64_t> layers = layers_per_stage(withWhatIf(plan, tried));
    const auto [fewest, most] = std::minmax_element(layers.begin(), layers.end());
    const QString count = *fewest == *most ? countText(*fewest)
                                           : PipelineAdvice::tr("%1 to %2").arg(countText(*fewest), countText(*most));
    if (*fewest < 1)
        return say(false, PipelineAdvice::tr("%1 stages (ranks × chunks) are more than this model has layers.")
                              .arg(countText(static_cast<std::int64_t>(layers.size()))));
    if (*fewest >= fewestLayers)
        return say(
            true, PipelineAdvice::tr("%1 layers a stage: 4 to 8 or more keep sends small beside the work.").arg(count));
    return say(false, PipelineAdvice::tr(
                          "%1 layers a stage: under 4 the head and the sends weigh; take fewer stages or chunks.")
                          .arg(count));
}

Advice ranksAdvice(const WhatIf& tried) {
    const QString count = countText(tried.ranks);
    if (tried.ranks <= mostRanks)
        return say(true, tried.ranks == 1 ? PipelineAdvice::tr("1 stage: no pipeline, no bubble.")
                                          : PipelineAdvice::tr("%1 stages: up to 8 are easy to keep busy.").arg(count));
    return say(false, PipelineAdvice::tr(
                          "%1 stages: beyond 8 the bubble and the imbalance grow; split tensors or data further first.")
                          .arg(count));
}

Advice batchesAdvice(const WhatIf& tried, const Plan& plan, const Pipeline& shown) {
    QString words = PipelineAdvice::tr("%1 micro-batches for %2 ranks: bubble %3")
                        .arg(countText(tried.microBatches), countText(tried.ranks), percentText(shown.timeline.bubble));
    for (const int factor : {2, 4}) {
        WhatIf more = tried;
        if (more.microBatches > mostMicroBatches / factor) break;
        more.microBatches *= factor;
        if (const Result<Pipeline> pipeline = simulateWhatIf(more, plan))
            words += PipelineAdvice::tr(", %1 with %2")
                         .arg(percentText(pipeline->timeline.bubble), countText(more.microBatches));
    }
    const bool good = tried.microBatches >= 4 * tried.ranks;
    return say(
        good,
        good ? words + QLatin1Char('.')
             : PipelineAdvice::tr("%1. At least 4 a rank (%2) keep it small.").arg(words, countText(4 * tried.ranks)));
}

Advice balanceAdvice(const Plan& plan) {
    const Partition own = partition_of(plan);
    const QString slowest = percentText(own.imbalance);
    const Result<Partition> best = balanced_partition(plan);
    if (!best || own.imbalance <= best->imbalance + 0.02)
        return say(
            own.imbalance < 0.1,
            PipelineAdvice::tr("The slowest stage takes %1 more than the mean; no other split of the layers is better.")
                .arg(slowest));
    QStringList layers;
    for (const std::int64_t count : best->layers) layers << QString::number(count);
    return say(false,
               PipelineAdvice::tr("The slowest stage takes %1 more than the mean; layers split %2 would make that %3.")
                   .arg(slowest, layers.join(QLatin1Char(' ')), percentText(best->imbalance)));
}

}  // namespace

QList<Advice> scheduleAdvice(const std::vector<Alternative>& rows, const Pipeline& shown) {
    const Alternative* best = nullptr;
    for (const Alternative& row : rows)
        if (row.possible && (!best || row.step < best->step)) best = &row;
    const double step = shown.timeline.makespan;
    if (!best || best->step > noteworthy * step || shown.schedule.ranks < 2) return {};
    return {
        say(false, PipelineAdvice::tr("%1 would save %2 of the step and keep %3 micro-batches of activations, not %4.")
                       .arg(QString::fromLatin1(schedule_title(best->kind)), percentText(1 - best->step / step),
                            batchesText(best->peak_micro_batches), batchesText(peak_micro_batches(shown.schedule))))};
}

QList<Advice> pipelineAdvice(const WhatIf& tried, const Plan& plan, const Pipeline& shown) {
    QList<Advice> all;
    all << layersAdvice(tried, plan) << ranksAdvice(tried);
    if (tried.ranks > 1) all << batchesAdvice(tried, plan, shown);
    if (tried.ranks > 1 && tried.planTimes) all << balanceAdvice(withWhatIf(plan, tried));
    return all;
}

}  // namespace plimsoll::ui
