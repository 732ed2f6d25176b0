// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/pipeline/pipeline_model.h"

#include <algorithm>

#include "core/schedule/stage_times.h"
#include "ui/common/plan_field.h"
#include "ui/pipeline/pipeline_words.h"
#include "ui/plan/plan_model.h"

namespace plimsoll::ui {

namespace {

constexpr int pauseMs = 150;
constexpr double quickOps = 20'000;

double operations(const WhatIf& tried) {
    return 3.0 * tried.ranks * tried.microBatches * chunks_of(tried.schedule, tried.chunks);
}

}  // namespace

PipelineModel::PipelineModel(PlanModel* plan, QObject* parent) : QObject(parent), plan_(plan) {
    details_.setSingleShot(true);
    connect(&details_, &QTimer::timeout, this, &PipelineModel::nextDetail);
    connect(plan_, &PlanModel::changed, this, &PipelineModel::followPlan);
    tried_ = own_ = whatIfOf(plan_->plan());
}

void PipelineModel::setActive(bool active) {
    if (active == active_) return;
    active_ = active;
    if (!active_) details_.stop();
    if (active_ && stale_) refresh();
}

void PipelineModel::followPlan() {
    const WhatIf own = whatIfOf(plan_->plan());
    // A plan that changes its pipeline takes the page along; other edits leave what is tried.
    if (is_plans_ || own != own_) tried_ = own;
    own_ = own;
    is_plans_ = own == tried_;
    refresh();
}

void PipelineModel::tryOut(const WhatIf& tried) {
    if (tried == tried_) return;
    tried_ = tried;
    is_plans_ = tried_ == whatIfOf(plan_->plan());
    refresh();
}

void PipelineModel::backToPlan() { tryOut(whatIfOf(plan_->plan())); }

void PipelineModel::applyToPlan() {
    const Plan next = withWhatIf(plan_->plan(), tried_);
    const WhatIf asTried = tried_;
    tried_.planTimes = true;  // times are no part of a plan
    if (next == plan_->plan()) {
        refresh();
        return;
    }
    is_plans_ = true;
    plan_->relayout(next, tr("Pipeline to %1").arg(QString::fromLatin1(schedule_title(asTried.schedule))));
}

double PipelineModel::batchBytes() const {
    const std::optional<MemoryEstimate>& memory = plan_->lastGood().memory;
    if (!memory || memory->stages.empty() || !tried_.planTimes) return 0;
    const std::vector<std::int64_t> layers = layers_per_rank(withWhatIf(plan_->plan(), tried_));
    return static_cast<double>(memory->fullest().activations_per_layer) *
           static_cast<double>(*std::max_element(layers.begin(), layers.end()));
}

void PipelineModel::compareWith(std::optional<Schedule> schedule) {
    if (schedule == compared_with_) return;
    compared_with_ = schedule;
    if (!active_) return;
    simulateCompared();
    emit changed();
}

void PipelineModel::simulateShown() {
    shown_.reset();
    problem_.clear();
    live_ = {};
    if (is_plans_ && plan_->isGood()) {
        shown_ = plan_->numbers().pipeline;
        problem_ = plan_->numbers().pipelineProblem;
    }
    if (!shown_ && problem_.isEmpty()) {
        if (operations(tried_) > static_cast<double>(mostDrawnOps)) {
            problem_ = tr("These are more operations than can be drawn; take fewer stages, micro-batches or chunks.");
        } else if (Result<Pipeline> pipeline = simulateWhatIf(tried_, plan_->plan())) {
            shown_ = std::make_shared<const Pipeline>(*std::move(pipeline));
        } else {
            problem_ = inWords(pipeline.error().message);
        }
    }
    if (shown_) live_ = memory_curve(shown_->schedule, shown_->timeline);
}

void PipelineModel::simulateCompared() {
    compared_.reset();
    compared_problem_.clear();
    if (!compared_with_ || !shown_) return;
    WhatIf other = tried_;
    other.schedule = *compared_with_;
    Plan plan = plan_->plan();
    plan.layout.schedule_file.clear();  // a list from a file is no schedule to compare with
    if (operations(other) > static_cast<double>(mostDrawnOps)) {
        compared_problem_ = tr("These are more operations than can be drawn.");
    } else if (Result<Pipeline> pipeline = simulateWhatIf(other, plan)) {
        compared_ = std::make_shared<const Pipeline>(*std::move(pipeline));
    } else {
        compared_problem_ = inWords(pipeline.error().message);
    }
}

void PipelineModel::compareSoon() {
    // A second large pipeline waits for a pause as well.
    if (!compared_with_ || operations(tried_) < quickOps) simulateCompared();
}

void PipelineModel::refresh() {
    stale_ = !active_;
    if (!active_) return;
    simulateShown();
    compareSoon();
    detail_ = 0;
    details_.start(pauseMs);
    emit changed();
}

void PipelineModel::nextDetail() {
    // One piece a turn of the event loop, so that the window stays quick.
    if (detail_ == 0) {
        if (operations(tried_) >= quickOps) simulateCompared();
        difference_ = shown_ ? differenceWords(*shown_) : QString();
    } else if (detail_ == 1) {
        advice_.clear();
        if (shown_) advice_ = shape_advice(withWhatIf(plan_->plan(), tried_), *shown_);
    } else {
        if (detail_ == 2) rows_.clear();
        WhatIf other = tried_;
        other.schedule = static_cast<Schedule>(detail_ - 2);
        if (shown_ && operations(other) <= static_cast<double>(mostDrawnOps))
            rows_.push_back(alternativeOf(other.schedule, tried_, plan_->plan()));
    }
    const std::size_t count = 2 + schedule_names.size();
    if (++detail_ < count) details_.start(0);
    if (detail_ == count && shown_)
        for (Advice& advice : schedule_advice(*shown_, rows_)) advice_.push_back(std::move(advice));
    // Rows appear together; a table that grows under the eye is hard to read.
    if (detail_ <= 2 || detail_ == count) emit detailsChanged();
}

}  // namespace plimsoll::ui
