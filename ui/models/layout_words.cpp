// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/layout_words.h"

#include <QCoreApplication>

#include "ui/models/waterline_data.h"

namespace plimsoll::ui {

namespace {

struct LayoutWords {
    Q_DECLARE_TR_FUNCTIONS(LayoutWords)
};

QString scheduleName(Schedule schedule) {
    return schedule == Schedule::GPipe ? QStringLiteral("GPipe") : QStringLiteral("1F1B");
}

}  // namespace

QString hardwareWords(const Plan& plan) {
    const Cluster& cluster = plan.cluster;
    const QString kind = cluster.gpu == "cpu" ? LayoutWords::tr("%1 CPU ranks") : LayoutWords::tr("%1 GPUs");
    QString words = kind.arg(countText(cluster.world_size()));
    if (cluster.nodes > 1) words += LayoutWords::tr(", %1 nodes").arg(countText(cluster.nodes));
    return words;
}

QString batchWords(const Plan& plan) {
    const std::int64_t batch = plan.layout.global_batch();
    return LayoutWords::tr("Global batch %1 × %2 = %3 tokens")
        .arg(countText(batch), countText(plan.data.sequence_length), countText(batch * plan.data.sequence_length));
}

QString pipelineWords(const Plan& plan, const PlanNumbers& numbers) {
    const Layout& layout = plan.layout;
    const QString batches = layout.accumulation == 1
                                ? LayoutWords::tr("1 micro-batch")
                                : LayoutWords::tr("%1 micro-batches").arg(countText(layout.accumulation));
    if (layout.pp == 1) return LayoutWords::tr("1 stage, %1: no bubble").arg(batches);
    return LayoutWords::tr("%1, %2 stages, %3 · bubble %4 (closed form (p−1)/(m+p−1) = %5)")
        .arg(scheduleName(layout.schedule), countText(layout.pp), batches, percentText(numbers.bubble),
             percentText(numbers.closedForm));
}

QString noTimelineWords(const Plan& plan, const PlanNumbers& numbers) {
    if (numbers.timeline) return {};
    return LayoutWords::tr(
               "%1 stages with %2 micro-batches are more cells than can be drawn; the bubble is the closed form's.")
        .arg(countText(plan.layout.pp), countText(plan.layout.accumulation));
}

QString stageWords(const RankMemory& stage) {
    QStringList parts;
    parts << (stage.ranks == 1 ? LayoutWords::tr("1 rank")
                               : LayoutWords::tr("%1 ranks alike").arg(countText(stage.ranks)));
    parts << LayoutWords::tr("%1 layers").arg(countText(stage.layers));
    parts << LayoutWords::tr("%1 parameters before ZeRO").arg(countText(stage.parameters));
    if (stage.in_flight > 1) parts << LayoutWords::tr("%1 micro-batches in flight").arg(countText(stage.in_flight));
    return parts.join(QStringLiteral(" · "));
}

QString activationWords(const RankMemory& stage) {
    return LayoutWords::tr("%1 a layer and micro-batch").arg(bytesText(stage.activations_per_layer));
}

}  // namespace plimsoll::ui
