// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/run/watch_card.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <QSettings>
#include <QSlider>

#include "core/control/batch_rules.h"
#include "core/control/lr_schedule.h"
#include "core/telemetry/contract/event_contents.h"
#include "core/telemetry/contract/event_kind.h"
#include "ui/common/escaped_text.h"
#include "ui/common/value_format.h"
#include "ui/plots/line_plot.h"
#include "ui/run/run_figures.h"
#include "ui/run/run_model.h"
#include "ui/run/run_words.h"

namespace plimsoll::ui {

namespace {

constexpr int mostRankLines = 16;         // more only hide one another
constexpr std::size_t mostLeftLines = 3;  // of the latest rollbacks
constexpr int bothMemoryLines = 4;        // ranks up to which memory shows now and peak, not only the peak
// Neighbouring ranks get colours that are far apart.
constexpr std::array rankColours{3, 0, 2, 1, 4, 5};
int rankColour(int rank) { return rankColours[static_cast<std::size_t>(rank) % rankColours.size()]; }

QString titleOf(WatchPlot kind) {
    switch (kind) {
        case WatchPlot::Loss:
            return WatchCard::tr("Loss");
        case WatchPlot::AddedLoss:
            return WatchCard::tr("Added to the loss");
        case WatchPlot::GradNorm:
            return WatchCard::tr("Gradient norm");
        case WatchPlot::LearningRate:
            return WatchCard::tr("Learning rate");
        case WatchPlot::LossScale:
            return WatchCard::tr("Loss scale");
        case WatchPlot::Throughput:
            return WatchCard::tr("Tokens per second");
        case WatchPlot::Memory:
            return WatchCard::tr("Memory");
        case WatchPlot::StepTime:
            return WatchCard::tr("Step time");
    }
    return {};
}

bool cutsRate(const Event& finding) {
    const auto contents = FindingEvent::from_json(finding.details);
    return contents && contents->lr_factor.has_value();
}

Tone flagTone(EventTone tone) {
    switch (tone) {
        case EventTone::Bad:
            return Tone::Bad;
        case EventTone::Warning:
            return Tone::Warn;
        case EventTone::Neutral:
        case EventTone::Good:
            break;
    }
    return Tone::Muted;
}

}  // namespace

WatchCard::WatchCard(WatchPlot kind, RunModel* run, StepAxis* axis, QWidget* parent)
    : Card(titleOf(kind), parent), kind_(kind), run_(run), plot_(new LinePlot(titleOf(kind), axis, this)) {
    body()->addWidget(plot_);
    if (kind_ == WatchPlot::Loss) addSmoothing();
    rebuild();
}

void WatchCard::addSmoothing() {
    constexpr int most = 99;
    smoothing_ = new QSlider(Qt::Horizontal, this);
    smoothing_->setRange(0, most);
    smoothing_->setFixedWidth(84);
    smoothing_->setAccessibleName(tr("Smoothing of the loss"));
    smoothing_->setValue(QSettings().value(QStringLiteral("watch/smoothing"), 0).toInt());
    const auto tell = [this] { smoothing_->setToolTip(plainTip(tr("Smoothing: %1 %").arg(smoothing_->value()))); };
    tell();
    connect(smoothing_, &QSlider::valueChanged, this, [this, tell] {
        tell();
        QSettings().setValue(QStringLiteral("watch/smoothing"), smoothing_->value());
        rebuild();
    });
    addToTitle(smoothing_);
}

void WatchCard::followSmoothing() {
    if (smoothing_) smoothed_.follow(run_->find(series::loss), smoothing_->value() / 100.0);
}

QList<WatchCard*> WatchCard::all(RunModel* run, StepAxis* axis, QWidget* parent) {
    QList<WatchCard*> cards;
    for (const WatchPlot kind : {WatchPlot::Loss, WatchPlot::AddedLoss, WatchPlot::GradNorm, WatchPlot::LearningRate,
                                 WatchPlot::LossScale, WatchPlot::Throughput, WatchPlot::Memory, WatchPlot::StepTime})
        cards << new WatchCard(kind, run, axis, parent);
    return cards;
}

bool WatchCard::isUseful() const {
    const std::optional<Plan>& plan = run_->plan();
    if (kind_ == WatchPlot::LossScale) return plan && plan->numerics.dtype == Dtype::Fp16;
    if (kind_ == WatchPlot::AddedLoss) return plan && (plan->model.moe() || plan->model.z_loss > 0);
    return true;
}

PlotLine WatchCard::line(const QString& name, const char* series, int category, int rank) const {
    return {.name = name,
            .data = [run = run_, key = std::string(series), rank] { return run->find(key, rank); },
            .category = category};
}

void WatchCard::addRankLines(PlotContent& content, const char* series) const {
    for (int rank = 0; rank < std::min(run_->rankCount(), mostRankLines); ++rank)
        content.lines.push_back(line(tr("rank %1").arg(rank), series, rankColour(rank), rank));
}

void WatchCard::addLeftBranches(PlotContent& content, const char* series, int category) const {
    const std::size_t count = run_->series().branches(series).size();
    for (std::size_t i = count - std::min(count, mostLeftLines); i < count; ++i) {
        const Pyramid& branch = run_->series().branches(series)[i];
        if (branch.size() == 0) continue;
        const auto end = static_cast<double>(branch.step(branch.size() - 1));
        content.lines.push_back({.name = tr("before resume (to step %1)").arg(formatStep(end)),
                                 .data = [run = run_, key = std::string(series), i]() -> const Pyramid* {
                                     const auto& branches = run->series().branches(key);
                                     return i < branches.size() ? &branches[i] : nullptr;
                                 },
                                 .category = category,
                                 .faint = true,
                                 .left = true});
    }
}

std::size_t WatchCard::leftBranches() const {
    return run_->series().branches(series::loss).size() + run_->series().branches(series::grad_norm).size();
}

PlotContent WatchCard::content() const {
    PlotContent content;
    content.empty_text = tr("Appears with the first step.");
    const std::optional<Plan>& plan = run_->plan();
    switch (kind_) {
        case WatchPlot::Loss:
            content.lines = {line(tr("loss"), series::loss, 0), line(tr("validation"), series::validation_loss, 1)};
            content.lines[1].sparse = true;
            if (smoothing_ && smoothing_->value() > 0) {
                content.lines[0].faint = true;
                content.lines.insert(content.lines.begin() + 1,
                                     {.name = tr("smoothed"), .data = [this] { return smoothed_.data(); }});
            }
            addLeftBranches(content, series::loss, 0);
            addLeftBranches(content, series::validation_loss, 1);
            break;
        case WatchPlot::AddedLoss:
            // Only what this run has: hundredths beside the loss, so they have a plot of their own.
            if (plan && plan->model.moe()) content.lines.push_back(line(tr("router loss"), series::router_loss, 4));
            if (plan && plan->model.z_loss > 0) content.lines.push_back(line(tr("z-loss"), series::z_loss, 3));
            break;
        case WatchPlot::GradNorm:
            content.lines = {line(tr("gradient norm"), series::grad_norm, 2)};
            addLeftBranches(content, series::grad_norm, 2);
            if (plan && plan->optimizer.clip > 0)
                content.levels = {{.name = tr("clip"), .low = plan->optimizer.clip, .high = plan->optimizer.clip}};
            break;
        case WatchPlot::LearningRate:
            content.lines = {line(tr("learning rate"), series::lr, 0)};
            content.kind = ValueKind::Scientific;
            content.whole_range = true;
            if (plan && plan->training.steps > 0)
                content.planned = [schedule = plan->lr, peak = peak_learning_rate(*plan),
                                   steps = plan->training.steps](double x) {
                    const auto step = static_cast<std::int64_t>(std::llround(x)) - 1;  // step 1 is update 0
                    return learning_rate(schedule, peak, std::clamp<std::int64_t>(step, 0, steps - 1), steps);
                };
            break;
        case WatchPlot::LossScale:
            content.lines = {line(tr("loss scale"), series::loss_scale, 1)};
            content.lines[0].stepped = true;
            content.kind = ValueKind::PowerOfTwo;
            break;
        case WatchPlot::Throughput:
            content.lines = {line(tr("tokens/s"), series::tokens_per_second, 4)};
            content.kind = ValueKind::Short;
            break;
        case WatchPlot::Memory:
            content.kind = ValueKind::Bytes;
            if (run_->rankCount() <= bothMemoryLines) {
                for (int rank = 0; rank < run_->rankCount(); ++rank) {
                    content.lines.push_back(
                        line(tr("rank %1 current").arg(rank), series::memory, rankColour(rank), rank));
                    content.lines.back().faint = true;
                }
                for (int rank = 0; rank < run_->rankCount(); ++rank)
                    content.lines.push_back(
                        line(tr("rank %1 peak").arg(rank), series::memory_peak, rankColour(rank), rank));
            } else {
                addRankLines(content, series::memory_peak);
            }
            if (!run_->predictedMemory().empty()) {
                const auto [low, high] =
                    std::minmax_element(run_->predictedMemory().begin(), run_->predictedMemory().end());
                content.levels = {{.name = tr("predicted"),
                                   .low = static_cast<double>(*low),
                                   .high = static_cast<double>(*high),
                                   .category = 3}};
            }
            break;
        case WatchPlot::StepTime:
            content.kind = ValueKind::Seconds;
            addRankLines(content, series::step_time);
            break;
    }
    return content;
}

std::vector<PlotFlag> WatchCard::flags() const {
    std::vector<PlotFlag> flags;
    const auto& events = run_->events();
    // Of the checkpoints the latest matters: a run goes on from it.
    const auto latest =
        std::find_if(events.rbegin(), events.rend(), [](const Event& e) { return e.kind == EventKind::Checkpoint; });
    for (const Event& event : events) {
        const EventTone tone = event.kind.tone();
        bool wanted = false;
        switch (kind_) {
            case WatchPlot::Loss:
                wanted = tone == EventTone::Warning || tone == EventTone::Bad || event.kind == EventKind::Resume ||
                         (latest != events.rend() && &event == &*latest);
                if (event.kind == EventKind::Overflow) wanted = false;  // they have a plot of their own
                break;
            case WatchPlot::GradNorm:
                wanted = is_finding(event.kind) || event.kind == EventKind::Rollback;
                break;
            case WatchPlot::LearningRate:
                wanted = is_finding(event.kind) && cutsRate(event);
                break;
            case WatchPlot::LossScale:
                wanted = event.kind == EventKind::Overflow;
                break;
            case WatchPlot::AddedLoss:
            case WatchPlot::Throughput:
            case WatchPlot::Memory:
            case WatchPlot::StepTime:
                break;
        }
        if (!wanted || event.step == 0) continue;
        flags.push_back(
            {.step = static_cast<double>(event.step), .label = eventLabel(event.kind), .tone = flagTone(tone)});
    }
    // Events come in order of time; a resumed run goes back in steps.
    std::stable_sort(flags.begin(), flags.end(), [](const PlotFlag& a, const PlotFlag& b) { return a.step < b.step; });
    return flags;
}

void WatchCard::rebuild() {
    followSmoothing();
    PlotContent content = this->content();
    content.log_scale = plot_->logScale();
    content.flags = flags();
    ranks_ = run_->rankCount();
    events_ = run_->events().size();
    left_ = leftBranches();
    plot_->setContent(std::move(content));
    showFigures();
}

void WatchCard::updatePoints() {
    if (run_->rankCount() != ranks_ || leftBranches() != left_) {
        rebuild();
        return;
    }
    if (run_->events().size() != events_) {
        events_ = run_->events().size();
        plot_->setFlags(flags());
    }
    followSmoothing();
    plot_->dataChanged();
    showFigures();
}

void WatchCard::showFigures() {
    switch (kind_) {
        case WatchPlot::Loss:
            setValue(lossWords(*run_));
            setFact(validationWords(*run_));
            break;
        case WatchPlot::AddedLoss:
            setValue(addedLossWords(*run_));
            break;
        case WatchPlot::GradNorm:
            setValue(gradNormWords(*run_));
            break;
        case WatchPlot::LearningRate:
            setValue(learningRateWords(*run_));
            break;
        case WatchPlot::LossScale:
            setValue(lossScaleWords(*run_));
            break;
        case WatchPlot::Throughput:
            setValue(throughputWords(*run_));
            break;
        case WatchPlot::Memory:
            setValue(memoryWords(*run_));
            break;
        case WatchPlot::StepTime:
            setValue(stepTimeWords(*run_));
            break;
    }
}

}  // namespace plimsoll::ui
