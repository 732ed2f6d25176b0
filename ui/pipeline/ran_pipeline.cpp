// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/pipeline/ran_pipeline.h"

#include <cmath>

#include "core/run/run_store.h"
#include "core/schedule/stage_times.h"
#include "core/schedule/timeline_sums.h"
#include "core/step_time/step_time.h"
#include "ui/common/plan_field.h"
#include "ui/common/value_format.h"
#include "ui/plan/plan_numbers.h"
#include "ui/waterline/waterline_data.h"

namespace plimsoll::ui {

namespace {

constexpr int againMs = 1500;
constexpr double milliseconds = 1e3;
constexpr int mostRuns = 50;

using PipelineOf = std::shared_ptr<const Pipeline>;

Timeline inMilliseconds(Timeline timeline) {
    for (std::vector<TimedOp>& ops : timeline.ranks)
        for (TimedOp& op : ops) {
            op.start *= milliseconds;
            op.end *= milliseconds;
        }
    return summed_timeline(std::move(timeline.ranks));
}

PipelineOf shownPipeline(Pipeline pipeline) {
    pipeline.timeline = inMilliseconds(std::move(pipeline.timeline));
    return std::make_shared<const Pipeline>(std::move(pipeline));
}

QString msText(double ms) { return formatValue(ValueKind::Seconds, ms / milliseconds); }

QList<RunChoice> runsWithPipelines(const Question& question) {
    QList<RunChoice> choices;
    for (const RunFolder& run : list_runs()) {
        if (question.isCancelled()) break;
        const Result<Plan> plan = run.plan();
        if (!plan || plan->layout.pp < 2) continue;
        choices.append({QString::fromStdString(run.path().string()), QString::fromStdString(run.name())});
        if (choices.size() == mostRuns) break;
    }
    return choices;
}

}  // namespace

/// A run that is followed; belongs to the reading thread.
struct RanPipelineModel::Tail {
    QString path;
    std::optional<RunFolder> run;
    Plan plan;
    std::optional<PipelineRecords> records;
    std::optional<Pipeline> planned;  ///< with the step-time model's seconds, or relative times
    QString modelProblem;

    Result<void> open();
    /// Null while nothing new was recorded.
    Result<std::shared_ptr<const RanPipeline>> read();
};

Result<void> RanPipelineModel::Tail::open() {
    PLIMSOLL_TRY(RunFolder folder, RunFolder::open(path.toStdString()));
    PLIMSOLL_TRY(Plan read, folder.plan());
    plan = std::move(read);
    const double ops = 3.0 * static_cast<double>(plan.layout.pp * plan.layout.accumulation * chunks_per_rank(plan));
    if (ops > static_cast<double>(mostDrawnOps)) return bad_input("these are more operations than can be drawn");
    const Result<Hardware> hardware = hardware_of(plan.cluster, plan.numerics.dtype);
    Result<Pipeline> pipeline =
        hardware ? simulate_pipeline(plan, stage_seconds(plan, *hardware)) : simulate_pipeline(plan);
    if (!pipeline) return tl::unexpected(pipeline.error());
    if (!hardware) modelProblem = inWords(hardware.error().message);
    planned = *std::move(pipeline);
    records.emplace(folder, plan);
    run = std::move(folder);
    return {};
}

Result<std::shared_ptr<const RanPipeline>> RanPipelineModel::Tail::read() {
    if (!run) PLIMSOLL_CHECK(open());
    PLIMSOLL_CHECK(records->poll());
    const std::optional<std::uint64_t> step = records->last_step();
    if (!step)
        return bad_input("the run has recorded no operations of its pipeline{}",
                         plan.training.layer_norms_every > 0 ? " yet" : ": training.layer_norms_every is 0");
    PLIMSOLL_TRY(Timeline timeline, records->timeline(planned->schedule, *step));
    auto ran = std::make_shared<RanPipeline>();
    ran->step = *step;
    ran->live = run->live();
    ran->modelProblem = modelProblem;
    if (modelProblem.isEmpty()) ran->fromModel = shownPipeline(*planned);
    Pipeline measured = *planned;
    measured.times = mean_times(measured.schedule, timeline);
    if (Result<Timeline> simulated = simulate(measured.schedule, measured.times)) {
        Pipeline own = measured;
        own.timeline = *std::move(simulated);
        ran->fromOwnTimes = shownPipeline(std::move(own));
    }
    measured.timeline = std::move(timeline);
    ran->measured = shownPipeline(std::move(measured));
    return ran;
}

/// What one reading brought.
struct RanPipelineModel::Reading {
    Result<std::shared_ptr<const RanPipeline>> ran;
    bool live = false;
};

RanPipelineModel::RanPipelineModel(QObject* parent) : QObject(parent) {
    again_.setInterval(againMs);
    connect(&again_, &QTimer::timeout, this, &RanPipelineModel::read);
}

void RanPipelineModel::setActive(bool active) {
    active_ = active;
    if (!active_) {
        again_.stop();
        return;
    }
    listRuns();
    if (!chosen_.isEmpty()) read();
}

void RanPipelineModel::listRuns() {
    listing_.ask(runsWithPipelines, [this](const Result<QList<RunChoice>>& found) {
        if (!found || *found == runs_) return;
        runs_ = *found;
        emit runsChanged();
    });
}

void RanPipelineModel::choose(const QString& path) {
    if (path == chosen_) return;
    chosen_ = path;
    shown_.reset();
    problem_.clear();
    again_.stop();
    reading_.cancel();
    tail_.reset();
    if (!path.isEmpty()) {
        tail_ = std::make_shared<Tail>();
        tail_->path = path;
        read();
    }
    emit changed();
}

void RanPipelineModel::read() {
    // A reading that takes longer than the pause between two of them is not begun again.
    if (!tail_ || reading_.isBusy()) return;
    using Ran = std::shared_ptr<const RanPipeline>;
    reading_.ask(
        [tail = tail_] {
            return Reading{tail->read(), tail->run && tail->run->live()};
        },
        [this](const Result<Reading>& reading) {
            const Result<Ran> ran = reading ? reading->ran : tl::unexpected(reading.error());
            // What is drawn stays until another step has ended.
            const bool same = ran && shown_ && (*ran)->step == shown_->step && (*ran)->live == shown_->live;
            if (!same) {
                shown_ = ran ? *ran : nullptr;
                problem_ = ran ? QString() : inWords(ran.error().message);
                emit changed();
            }
            if (reading && reading->live && active_)
                again_.start();
            else
                again_.stop();
        });
}

QString ranWords(const RanPipeline& ran, const Pipeline& predicted) {
    const Timeline &was = ran.measured->timeline, &said = predicted.timeline;
    const double off = said.makespan > 0 ? was.makespan / said.makespan - 1 : 0;
    const QString difference = std::abs(off) < 0.0005 ? RanPipelineModel::tr("as long")
                               : off > 0              ? RanPipelineModel::tr("%1 longer").arg(percentText(off))
                                                      : RanPipelineModel::tr("%1 shorter").arg(percentText(-off));
    return RanPipelineModel::tr("Step %1 took %2 with %3 bubble; predicted %4 with %5: %6.")
        .arg(formatStep(static_cast<double>(ran.step)), msText(was.makespan), percentText(was.bubble),
             msText(said.makespan), percentText(said.bubble), difference);
}

QString ranOpWords(const Pipeline& measured, const Pipeline& predicted, int rank, std::size_t index) {
    const auto row = static_cast<std::size_t>(rank);
    const TimedOp &was = measured.timeline.ranks[row][index], &said = predicted.timeline.ranks[row][index];
    const double late = was.start - said.start, longer = (was.end - was.start) - (said.end - said.start);
    const auto signedText = [](double ms, const QString& more, const QString& less) {
        return (ms < 0 ? less : more).arg(msText(std::abs(ms)));
    };
    return QStringLiteral("<p style='margin:0; white-space:pre'>%1</p>")
        .arg(QStringList{
            RanPipelineModel::tr("<b>%1</b> on rank %2: %3")
                .arg(QString::fromStdString(short_name(was.op, measured.schedule.chunks > 1)))
                .arg(rank)
                .arg(QString::fromStdString(describe(was.op))),
            RanPipelineModel::tr("ran %1 to %2, took %3")
                .arg(msText(was.start), msText(was.end), msText(was.end - was.start)),
            RanPipelineModel::tr("predicted %1 to %2, takes %3")
                .arg(msText(said.start), msText(said.end), msText(said.end - said.start)),
            QStringLiteral("%1, %2").arg(
                signedText(late, RanPipelineModel::tr("starts %1 late"), RanPipelineModel::tr("starts %1 early")),
                signedText(longer, RanPipelineModel::tr("takes %1 more"), RanPipelineModel::tr("takes %1 less")))}
                 .join(QStringLiteral("<br>")));
}

}  // namespace plimsoll::ui
