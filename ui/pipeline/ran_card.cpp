// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/pipeline/ran_card.h"

#include <algorithm>

#include "ui/pipeline/gantt.h"
#include "ui/widgets/combo_box.h"
#include "ui/widgets/time_span.h"
#include "ui/widgets/wrap_label.h"

namespace plimsoll::ui {

namespace {

enum Prediction { OwnTimes, Model };

}  // namespace

RanCard::RanCard(QWidget* parent)
    : Card(tr("Measured"), parent),
      span_(new TimeSpan(this)),
      runs_(new ComboBox(this)),
      predictions_(new ComboBox(this)),
      words_(new WrapLabel(this)),
      gantt_(new Gantt(this)) {
    setFact(tr("filled: measured, outlined: predicted, in milliseconds"));
    runs_->setAccessibleName(tr("Run to compare with"));
    runs_->addItem(tr("Choose a run"), QString());
    predictions_->setAccessibleName(tr("What the prediction rests on"));
    predictions_->addItem(tr("by the run's own operations"));
    predictions_->setItemData(
        OwnTimes,
        tr("The schedule, simulated with what its operations took on average: what is left is waiting "
           "and what passes between ranks"),
        Qt::ToolTipRole);
    predictions_->addItem(tr("by the step-time model"));
    predictions_->setItemData(Model, tr("From the model, the layout and the hardware alone, before anything ran"),
                              Qt::ToolTipRole);
    auto* choices = new QHBoxLayout;
    choices->addWidget(runs_);
    choices->addWidget(predictions_);
    choices->addStretch(1);
    body()->addLayout(choices);
    gantt_->setAccessibleName(tr("Measured pipeline timeline"));
    gantt_->setMostHeight(Gantt::mostHeight);
    gantt_->setSpan(span_);
    gantt_->setZoomable(true);
    body()->addWidget(words_);
    body()->addWidget(gantt_);
    connect(runs_, &QComboBox::activated, this,
            [this](int index) { model_.choose(runs_->itemData(index).toString()); });
    connect(predictions_, &QComboBox::activated, this, &RanCard::refresh);
    connect(&model_, &RanPipelineModel::runsChanged, this, &RanCard::listRuns);
    connect(&model_, &RanPipelineModel::changed, this, &RanCard::refresh);
    refresh();
}

QString RanCard::words() const { return words_->text(); }

void RanCard::showEvent(QShowEvent* event) {
    Card::showEvent(event);
    model_.setActive(true);
}

void RanCard::hideEvent(QHideEvent* event) {
    Card::hideEvent(event);
    model_.setActive(false);
}

void RanCard::listRuns() {
    runs_->clear();
    runs_->addItem(tr("Choose a run"), QString());
    for (const RunChoice& run : model_.runs()) runs_->addItem(tr("compare with %1").arg(run.name), run.path);
    runs_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    runs_->setCurrentIndex(std::max(0, runs_->findData(model_.chosen())));
    refresh();
}

void RanCard::refresh() {
    const std::shared_ptr<const RanPipeline> ran = model_.shown();
    const bool byModel = predictions_->currentIndex() == Model;
    const std::shared_ptr<const Pipeline> predicted = !ran ? nullptr : byModel ? ran->fromModel : ran->fromOwnTimes;
    if (ran)
        words_->setText(predicted ? ranWords(*ran, *predicted) : ran->modelProblem);
    else if (!model_.problem().isEmpty())
        words_->setText(model_.problem());
    else if (!model_.chosen().isEmpty())
        words_->setText(tr("Reading the run …"));
    else
        words_->setText(
            model_.runs().isEmpty()
                ? tr("No run has a pipeline yet. Train with 2 or more pipeline stages, and when each of its "
                     "operations ran stands here over the prediction.")
                : tr("Choose a run to see when each of its operations ran, over the prediction."));
    if (ran) span_->setWhole(std::max(ran->measured->timeline.makespan, predicted ? predicted->timeline.makespan : 0));
    gantt_->setPredicted(predicted);
    gantt_->setPipeline(ran ? ran->measured : nullptr);
    gantt_->setVisible(ran != nullptr);
    predictions_->setVisible(ran != nullptr);
}

}  // namespace plimsoll::ui
