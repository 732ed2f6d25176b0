// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/pipeline/what_if_card.h"

#include <cmath>
#include <QPushButton>

#include "ui/pipeline/pipeline_model.h"
#include "ui/widgets/combo_box.h"
#include "ui/widgets/plain_label.h"
#include "ui/widgets/slider_row.h"
#include "ui/widgets/switch.h"

namespace plimsoll::ui {

namespace {

int whole(double value) { return static_cast<int>(std::lround(value)); }

}  // namespace

WhatIfCard::WhatIfCard(PipelineModel* model, QWidget* parent)
    : Card(tr("What if"), parent), model_(model), schedule_(new ComboBox(this)) {
    schedule_->setAccessibleName(tr("Schedule to try"));
    for (std::size_t i = 0; i < schedule_names.size(); ++i)
        schedule_->addItem(QString::fromLatin1(schedule_title(static_cast<Schedule>(i))));
    connect(schedule_, &QComboBox::activated, this, [this](int at) {
        WhatIf tried = model_->tried();
        tried.schedule = static_cast<Schedule>(at);
        model_->tryOut(tried);
    });
    auto* row = new QHBoxLayout;
    auto* label = new PlainLabel(tr("Schedule"), this);
    label->setBuddy(schedule_);
    row->addWidget(label, 1);
    row->addWidget(schedule_);
    body()->addLayout(row);
    ranks_ = addSlider(tr("Stages"), tr("Pipeline ranks to try (p)"), evenStops(1, 64, 1),
                       [](WhatIf& tried, double value) { tried.ranks = whole(value); });
    micro_batches_ = addSlider(tr("Micro-batches"), tr("Micro-batches per step to try (m)"), growingStops(512),
                               [](WhatIf& tried, double value) { tried.microBatches = whole(value); });
    chunks_ = addSlider(tr("Chunks"), tr("Stages a rank holds, of the schedules that say (v)"), evenStops(1, 8, 1),
                        [](WhatIf& tried, double value) { tried.chunks = whole(value); });
    addTimes();
    addButtons();
    connect(model_, &PipelineModel::changed, this, &WhatIfCard::refresh);
    refresh();
}

SliderRow* WhatIfCard::addSlider(const QString& name, const QString& help, std::vector<double> stops,
                                 void (*set)(WhatIf&, double)) {
    auto* slider = new SliderRow(name, help, std::move(stops), this);
    connect(slider, &SliderRow::chosen, this, [this, set](double value) {
        WhatIf tried = model_->tried();
        set(tried, value);
        model_->tryOut(tried);
    });
    body()->addWidget(slider);
    return slider;
}

void WhatIfCard::addTimes() {
    plan_times_ = new Switch(this);
    plan_times_->setAccessibleName(tr("Use estimated stage times"));
    plan_times_->setToolTip(
        tr("Times from the FLOPs of the plan's layers; off: equal stages that take the times below"));
    connect(plan_times_, &QCheckBox::clicked, this, [this](bool on) {
        WhatIf tried = model_->tried();
        tried.planTimes = on;
        model_->tryOut(tried);
    });
    auto* row = new QHBoxLayout;
    auto* label = new PlainLabel(tr("Use estimated stage times"), this);
    label->setBuddy(plan_times_);
    row->addWidget(label, 1);
    row->addWidget(plan_times_);
    body()->addSpacing(4);
    body()->addLayout(row);
    const std::vector<double> times = evenStops(0.1, 4, 0.1);
    forward_ = addSlider(tr("F"), tr("Forward of one micro-batch on one rank"), times,
                         [](WhatIf& tried, double value) { tried.forward = value; });
    backward_input_ = addSlider(tr("B"), tr("Backward for the input"), times,
                                [](WhatIf& tried, double value) { tried.backwardInput = value; });
    backward_weight_ = addSlider(tr("W"), tr("Backward for the weights"), times,
                                 [](WhatIf& tried, double value) { tried.backwardWeight = value; });
    send_ = addSlider(tr("Send"), tr("From one rank to the next; both go on working meanwhile"), evenStops(0, 2, 0.05),
                      [](WhatIf& tried, double value) { tried.send = value; });
}

void WhatIfCard::addButtons() {
    apply_ = new QPushButton(tr("Apply to plan"), this);
    apply_->setProperty("primary", true);
    apply_->setAccessibleName(apply_->text());
    apply_->setToolTip(
        tr("Schedule, stages, micro-batches and chunks become the plan's, as one step that can be undone"));
    back_ = new QPushButton(tr("Reset"), this);
    back_->setAccessibleName(tr("Back to the plan's pipeline"));
    back_->setToolTip(back_->accessibleName());
    auto* row = new QHBoxLayout;
    row->addWidget(apply_, 1);
    row->addWidget(back_);
    body()->addSpacing(4);
    body()->addLayout(row);
    connect(apply_, &QPushButton::clicked, model_, &PipelineModel::applyToPlan);
    connect(back_, &QPushButton::clicked, model_, &PipelineModel::backToPlan);
}

void WhatIfCard::refresh() {
    const WhatIf& tried = model_->tried();
    setFact(model_->isPlans() ? tr("the plan's pipeline") : tr("not in the plan"));
    schedule_->setCurrentIndex(static_cast<int>(tried.schedule));
    ranks_->setValue(tried.ranks);
    micro_batches_->setValue(tried.microBatches);
    chunks_->setValue(chunks_of(tried.schedule, tried.chunks));
    chunks_->setEnabled(readsChunks(tried.schedule));
    plan_times_->setChecked(tried.planTimes);
    forward_->setValue(tried.forward);
    backward_input_->setValue(tried.backwardInput);
    backward_weight_->setValue(tried.backwardWeight);
    send_->setValue(tried.send);
    for (SliderRow* row : {forward_, backward_input_, backward_weight_, send_}) row->setVisible(!tried.planTimes);
    for (QPushButton* button : {apply_, back_}) button->setEnabled(!model_->isPlans());
}

}  // namespace plimsoll::ui
