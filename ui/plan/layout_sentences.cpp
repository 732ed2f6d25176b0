// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plan/layout_sentences.h"

#include <QCoreApplication>

#include "ui/common/value_format.h"

namespace plimsoll::ui {

namespace {

struct LayoutWords {
    Q_DECLARE_TR_FUNCTIONS(LayoutWords)
};

QString scheduleName(Schedule schedule) { return QString::fromLatin1(schedule_title(schedule)); }

}  // namespace

QString hardwareWords(const Plan& plan) {
    const Cluster& cluster = plan.cluster;
    const bool one = cluster.world_size() == 1;
    QString words = one ? (cluster.on_cpu() ? LayoutWords::tr("1 CPU rank") : LayoutWords::tr("1 GPU"))
                        : (cluster.on_cpu() ? LayoutWords::tr("%1 CPU ranks") : LayoutWords::tr("%1 GPUs"))
                              .arg(countText(cluster.world_size()));
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
    const QString name =
        numbers.pipeline ? QString::fromStdString(pipeline_title(*numbers.pipeline)) : scheduleName(layout.schedule);
    const QString what = LayoutWords::tr("%1, %2 stages, %3").arg(name, countText(layout.pp), batches);
    if (!numbers.pipeline) return what;
    const QString bubble =
        LayoutWords::tr("%1 · bubble %2, simulated").arg(what, percentText(numbers.pipeline->timeline.bubble));
    const auto& form = numbers.pipeline->closed_form;
    if (!form) return bubble;
    return LayoutWords::tr("%1 (formula %2 = %3)")
        .arg(bubble, QString::fromStdString(form->formula), percentText(form->bubble));
}

QString noTimelineWords(const Plan& plan, const PlanNumbers& numbers) {
    if (numbers.pipeline) return {};
    if (!numbers.pipelineProblem.isEmpty()) return numbers.pipelineProblem;
    return LayoutWords::tr("%1 stages with %2 micro-batches are more cells than can be drawn.")
        .arg(countText(plan.layout.pp), countText(plan.layout.accumulation));
}

QString stageWords(const RankMemory& stage) {
    QStringList parts;
    parts << (stage.ranks == 1 ? LayoutWords::tr("1 rank")
                               : LayoutWords::tr("%1 identical ranks").arg(countText(stage.ranks)));
    parts << LayoutWords::tr("%1 layers").arg(countText(stage.layers));
    parts << LayoutWords::tr("%1 parameters before ZeRO").arg(countText(stage.parameters));
    if (stage.in_flight > 1) parts << LayoutWords::tr("%1 micro-batches in flight").arg(countText(stage.in_flight));
    return parts.join(QStringLiteral(" · "));
}

QString activationWords(const RankMemory& stage) {
    return LayoutWords::tr("%1 per layer and micro-batch").arg(bytesText(stage.activations_per_layer));
}

}  // namespace plimsoll::ui
