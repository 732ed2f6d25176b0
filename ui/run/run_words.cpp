// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/run/run_words.h"

#include <algorithm>
#include <cmath>
#include <QCoreApplication>
#include <QDateTime>
#include <QLocale>
#include <QRegularExpression>

#include "ui/common/plan_field.h"
#include "ui/common/value_format.h"
#include "ui/run/resumable.h"

namespace plimsoll::ui {

namespace {

const QString dot = QStringLiteral(" · ");

struct EventWords {
    Q_DECLARE_TR_FUNCTIONS(RunWords)
};

QString clock(double seconds) {
    const QDateTime when = dateTime(seconds);
    const bool today = when.date() == QDate::currentDate();
    const QString minutes = QLocale().timeFormat(QLocale::ShortFormat).remove(QStringLiteral(":ss"));
    return today ? QLocale().toString(when.time(), minutes) : QLocale().toString(when, QLocale::ShortFormat);
}

QString ranksText(std::int64_t ranks) {
    return ranks == 1 ? EventWords::tr("1 rank") : EventWords::tr("%1 ranks").arg(ranks);
}

// "3 h 23 min", "12 min", "45 s": what a person plans with.
QString duration(double seconds) {
    const auto total = static_cast<qint64>(std::llround(std::clamp(seconds, 0.0, 1e12)));
    const qint64 days = total / 86400, hours = total / 3600 % 24, minutes = total / 60 % 60;
    if (days > 0) return EventWords::tr("%1 d %2 h").arg(days).arg(hours);
    if (hours > 0) return EventWords::tr("%1 h %2 min").arg(hours).arg(minutes);
    if (minutes >= 5) return EventWords::tr("%1 min").arg(minutes);
    if (minutes > 0) return EventWords::tr("%1 min %2 s").arg(minutes).arg(total % 60);
    return EventWords::tr("%1 s").arg(total);
}

}  // namespace

QDateTime dateTime(double seconds) {
    // A damaged file may say anything: years 1 to 9999 are shown.
    return QDateTime::fromMSecsSinceEpoch(static_cast<qint64>(std::clamp(seconds, -6e10, 2.5e11) * 1000));
}

QString runStatusText(RunStatus status) {
    switch (status) {
        case RunStatus::Starting:
            return EventWords::tr("starting");
        case RunStatus::Running:
            return EventWords::tr("running");
        case RunStatus::Stopping:
            return EventWords::tr("stopping");
        case RunStatus::Finished:
            return EventWords::tr("finished");
        case RunStatus::Stopped:
            return EventWords::tr("stopped");
        case RunStatus::Failed:
            return EventWords::tr("failed");
    }
    return {};
}

QString statusWords(const RunModel& run) {
    if (!run.isOpen()) return {};
    if (run.isVanished()) return EventWords::tr("no longer there");
    const RunState& state = run.state();
    const QString status = runStatusText(state.status);
    if (state.started <= 0) return status;
    const QString ranks = ranksText(state.world_size);
    if (state.ended > 0)
        return EventWords::tr("%1 on %2 at %3 after %4")
            .arg(status, ranks, clock(state.ended), duration(run.secondsElapsed()));
    return EventWords::tr("%1 on %2 since %3").arg(status, ranks, clock(state.started));
}

QString progressWords(const RunModel& run) {
    const Pyramid* loss = run.find(series::loss);
    if (loss == nullptr) return {};
    const std::int64_t total = run.totalSteps();
    QString words = EventWords::tr("step <b>%1</b>").arg(formatStep(static_cast<double>(run.step())));
    if (total <= 0) return words;
    const auto percent =
        static_cast<int>(std::clamp(static_cast<double>(run.step()) * 100 / static_cast<double>(total), 0.0, 100.0));
    words = EventWords::tr("%1 of %2 · %3 %").arg(words, formatStep(static_cast<double>(total))).arg(percent);
    const double left = run.secondsLeft();
    if (left >= 0) words += dot + EventWords::tr("<b>%1</b> left").arg(duration(left));
    return words;
}

std::optional<RunNotice> noticeFor(const RunModel& run, bool store_is_empty) {
    using Action = RunNotice::Action;
    if (!run.isOpen()) {
        if (store_is_empty)
            return RunNotice{
                .sentence = EventWords::tr("No run yet. Train starts one from the plan and shows it here."),
                .action = Action::Train,
                .empty = true};
        return RunNotice{.sentence = EventWords::tr("No run is open. Choose one above, or take the newest."),
                         .action = Action::ShowNewest,
                         .empty = true};
    }
    const bool has_points = !run.series().series().empty();
    if (run.isVanished())
        return RunNotice{
            .sentence = has_points
                            ? EventWords::tr("The folder %1 is gone: it was moved or deleted. What has been read stays "
                                             "here until another run is opened.")
                                  .arg(run.runPath())
                            : EventWords::tr("The folder %1 is not there: it was moved or deleted.").arg(run.runPath()),
            .action = store_is_empty ? Action::Train : Action::ShowNewest,
            .bad = true,
            .empty = !has_points};
    if (run.state().status == RunStatus::Failed && !run.isLive())
        return RunNotice{.sentence = run.state().reason.empty() ? EventWords::tr("The run failed; its log says more.")
                                                                : reasonWords(run.state()),
                         .action = Action::ShowLog,
                         .second = canResume(summaryOf(run)) ? Action::Resume : Action::None,
                         .bad = true};
    if (const auto wait = run.stopWait())
        return RunNotice{.sentence = waitWords(*wait), .action = wait->save ? Action::None : Action::StopNow};
    if (!run.problem().isEmpty())
        return RunNotice{.sentence = run.problem(), .action = Action::ShowLog, .bad = true, .empty = !has_points};
    if (run.isLoading()) return RunNotice{.sentence = EventWords::tr("Reading the history…"), .loading = true};
    if (!has_points && run.isLive())
        return RunNotice{.sentence = EventWords::tr("The ranks are starting; the first step appears in a moment.")};
    if (!has_points)
        return RunNotice{.sentence = EventWords::tr("The run ended before its first step."),
                         .action = Action::ShowLog,
                         .second = canResume(summaryOf(run)) ? Action::Resume : Action::None};
    if (run.state().status == RunStatus::Stopped && !run.state().reason.empty())
        return RunNotice{.sentence = reasonWords(run.state()),
                         .action = canResume(summaryOf(run)) ? Action::Resume : Action::None};
    return std::nullopt;
}

QString reasonWords(const RunState& state) {
    QString words = inWords(state.reason);
    static const QRegularExpression resume(QStringLiteral("`plimsoll train --resume[^`]*`"));
    return words.replace(resume, EventWords::tr("Resume"));
}

QString waitWords(const StopWait& wait) {
    const QString step = formatStep(static_cast<double>(wait.step));
    if (wait.save) {
        if (wait.save_takes && *wait.save_takes >= wait.save->written)
            return EventWords::tr("Stopping: the checkpoint of step %1 is being saved, %2.")
                .arg(step, partOf(wait.save->written, *wait.save_takes));
        return EventWords::tr("Stopping: the checkpoint of step %1 is being saved, %2 so far.")
            .arg(step, bytesText(wait.save->written));
    }
    const auto left = wait.left();
    if (!left)
        return EventWords::tr("Stopping: step %1 is the first and has taken %2 so far; then its checkpoint is saved.")
            .arg(step, duration(wait.elapsed));
    if (*left <= 0)
        return EventWords::tr("Stopping: step %1 has taken %2, those before it %3; then its checkpoint is saved.")
            .arg(step, duration(wait.elapsed), duration(*wait.step_takes));
    return EventWords::tr("Stopping: step %1 ends in about %2, then its checkpoint is saved.")
        .arg(step, duration(*left));
}

QString eventLabel(const RecordedKind& kind) {
    const auto known = kind.known();
    if (!known) return QString::fromStdString(kind.name());
    // Every kind stands here, so that the compiler asks for the label of a new one.
    switch (*known) {
        case EventKind::Checkpoint:
            return EventWords::tr("checkpoint");
        case EventKind::Resume:
            return EventWords::tr("resumed");
        case EventKind::Overflow:
            return EventWords::tr("overflow");
        case EventKind::Stop:
            return EventWords::tr("stopped");
        case EventKind::Error:
        case EventKind::Failed:
            return EventWords::tr("failed");
        case EventKind::Spike:
            return EventWords::tr("spike");
        case EventKind::LossSpike:
            return EventWords::tr("loss spike");
        case EventKind::Rollback:
            return EventWords::tr("rolled back");
        case EventKind::Nonfinite:
            return EventWords::tr("not finite");
        case EventKind::Start:
        case EventKind::Damaged:
        case EventKind::Validation:
        case EventKind::Sample:
        case EventKind::Memory:
        case EventKind::Pipeline:
        case EventKind::NoiseScale:
        case EventKind::RangeTest:
        case EventKind::End:
        case EventKind::Supervise:
        case EventKind::StopRequested:
        case EventKind::Stopped:
        case EventKind::Finished:
            break;
    }
    return QString::fromStdString(kind.name());
}

}  // namespace plimsoll::ui
