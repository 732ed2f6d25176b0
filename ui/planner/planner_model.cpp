// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/planner/planner_model.h"

#include <algorithm>

#include "core/frameworks/estimate_under.h"
#include "core/plan/machine.h"
#include "core/plan/plan_io.h"
#include "core/plan/settings.h"
#include "core/planner/fit_limit.h"
#include "core/planner/layout_text.h"
#include "core/planner/neighbours.h"
#include "core/planner/recommendations.h"
#include "ui/common/plan_field.h"
#include "ui/plan/plan_model.h"

namespace plimsoll::ui {

namespace {

constexpr int pauseMs = 40;  // typing goes on for longer, a click does not

/// Of the layout only what the search leaves as it is, and the global batch.
Plan question(Plan plan) {
    Layout& layout = plan.layout;
    const Layout plain;
    layout.dp = layout.global_batch();
    layout.micro_batch = layout.accumulation = layout.tp = layout.pp = layout.cp = layout.ep = 1;
    layout.zero_stage = 0;
    layout.sequence_parallel = false;
    layout.schedule = plain.schedule;
    layout.chunks = plain.chunks;
    layout.schedule_file.clear();
    layout.recompute = plain.recompute;
    layout.offload_optimizer = plain.offload_optimizer;
    plan.name.clear();
    return plan;
}

Bytes usableOf(const PlanResult& result) {
    const Candidate* any = !result.ranked.empty() ? &result.ranked.front()
                           : result.leanest       ? &*result.leanest
                                                  : nullptr;
    if (!any) return 0;
    return usable_bytes(any->cluster).value_or(0);
}

template <class Value>
void admit(std::vector<Value>& choices, Value value) {
    if (std::find(choices.begin(), choices.end(), value) == choices.end()) choices.clear();
}

/// What was asked, without the constraints that `plan` breaks.
void widen(PlanRequest& request, const Plan& plan) {
    const Layout& layout = plan.layout;
    Choices& choices = request.choices;
    admit(choices.tp, layout.tp);
    admit(choices.pp, layout.pp);
    admit(choices.cp, layout.cp);
    admit(choices.ep, layout.ep);
    admit(choices.zero_stage, layout.zero_stage);
    admit(choices.micro_batch, layout.micro_batch);
    admit(choices.chunks, layout.chunks);
    admit(choices.sequence_parallel, layout.sequence_parallel);
    admit(choices.schedule, layout.schedule);
    admit(choices.recompute, layout.recompute);
    admit(choices.offload_optimizer, layout.offload_optimizer);
    if (request.global_batch > 0 && request.global_batch != layout.global_batch()) request.global_batch = 0;
    const Result<MemoryEstimate> memory = estimate_under(request.framework, plan);
    if (!memory) return;
    const auto fits = [&] { return memory->fullest().total() <= fit_limit(request, plan.cluster, memory->usable); };
    if (!fits()) request.headroom = 0;
    if (!fits()) request.fit_probability = 0;
    if (!host_holds(request, plan.cluster, memory->host)) request.host_memory = 0;
}

bool sameRequest(const PlanRequest& a, const PlanRequest& b) {
    return a.global_batch == b.global_batch && a.objective == b.objective && a.choices == b.choices &&
           a.fewer_gpus == b.fewer_gpus && a.fit_probability == b.fit_probability && a.host_memory == b.host_memory &&
           a.headroom == b.headroom && a.tokens == b.tokens && a.price_per_gpu_hour == b.price_per_gpu_hour;
}

}  // namespace

bool sameQuestion(const Plan& a, const Plan& b) { return question(a) == question(b); }

PlannerModel::PlannerModel(PlanModel* plan, QObject* parent) : QObject(parent), plan_(plan) {
    soon_.setSingleShot(true);
    soon_.setInterval(pauseMs);
    connect(&soon_, &QTimer::timeout, this, &PlannerModel::seek);
    connect(plan_, &PlanModel::changed, this, &PlannerModel::planChanged);
}

void PlannerModel::setPlanner(Planner planner) {
    planner_ = std::move(planner);
    sought_ = false;
    if (active_) seekSoon();
}

void PlannerModel::setActive(bool active) {
    active_ = active;
    if (!active_) {
        soon_.stop();
        if (search_.isBusy()) sought_ = false;
        search_.cancel();
    } else if (!sought_ || stale_) {
        seek();
    }
}

PlanRequest PlannerModel::request() const {
    PlanRequest request = asked_;
    request.plan = plan_->plan();
    request.framework = plan_->framework();
    return request;
}

Result<void> PlannerModel::ask(const std::function<Result<void>(PlanRequest&)>& edit) {
    PlanRequest next = asked_;
    if (Result<void> edited = edit(next); !edited) return edited;
    if (sameRequest(next, asked_)) return {};
    asked_ = std::move(next);
    emit requestChanged();
    seekSoon();
    return {};
}

void PlannerModel::planChanged() {
    if (sought_ && !stale_ && asked_.framework == plan_->framework() && sameQuestion(asked_.plan, plan_->plan())) {
        emit changed();  // beside another plan the same layouts are better or worse
        return;
    }
    seekSoon();
}

void PlannerModel::seekSoon() {
    search_.cancel();
    stale_ = true;
    sought_ = false;
    if (active_) soon_.start();
    emit changed();
}

void PlannerModel::seek() {
    soon_.stop();
    stale_ = true;
    sought_ = true;
    asked_.plan = plan_->plan();
    asked_.framework = plan_->framework();
    using Answer = std::shared_ptr<const PlannerAnswer>;
    search_.ask(
        [this, request = asked_, planner = planner_](const Question& question) -> Result<Answer> {
            const auto answerOf = [&request](PlanResult result) {
                auto answer = std::make_shared<PlannerAnswer>();
                answer->request = request;
                answer->usable = usableOf(result);
                answer->result = std::move(result);
                return answer;
            };
            const auto tell = [&](const PlanResult& soFar) {
                question.tell([this, answer = Answer(answerOf(soFar))] { take(answer); });
            };
            PLIMSOLL_TRY(PlanResult result, planner.search(request, tell, question.cancelled()));
            const std::shared_ptr<PlannerAnswer> answer = answerOf(std::move(result));
            if (question.isCancelled()) return answer;
            if (!answer->result.ranked.empty())
                answer->neighbours = planner.neighbours(request, answer->result.ranked[0]);
            answer->recommendations = planner.recommendations(request, answer->result);
            answer->ended = true;
            return answer;
        },
        [this](const Result<Answer>& answer) {
            if (answer)
                take(*answer);
            else
                fail(inWords(answer.error().message));
        });
    emit changed();
}

void PlannerModel::take(std::shared_ptr<const PlannerAnswer> answer) {
    answer_ = std::move(answer);
    problem_.clear();
    stale_ = false;
    emit changed();
}

void PlannerModel::fail(const QString& problem) {
    answer_.reset();
    problem_ = problem;
    stale_ = false;
    emit changed();
}

Plan PlannerModel::planWith(const Candidate& candidate) const { return plan_of(request(), candidate); }

void PlannerModel::apply(const Candidate& candidate) {
    if (!answer_ || stale_) return;
    plan_->replace(planWith(candidate), tr("Layout %1").arg(QString::fromStdString(layout_words(candidate.layout))));
}

void PlannerModel::apply(const Relaxation& relaxation) {
    if (!answer_ || stale_) return;
    Result<Plan> next = with_settings(plan_->plan(), relaxation.settings);
    if (!next) return;
    PlanRequest relaxed = request();
    relaxed.plan = *next;
    if (relaxation.candidate) {
        relaxed.plan = plan_of(relaxed, *relaxation.candidate);
        (void)ask([&relaxed](PlanRequest& request) {
            widen(request, relaxed.plan);
            return Result<void>();
        });
    }
    const QString words = QString::fromStdString(relaxation.words);
    if (relaxation.candidate)
        plan_->replace(relaxed.plan, words);
    else
        plan_->relayout(relaxed.plan, words);
}

}  // namespace plimsoll::ui
