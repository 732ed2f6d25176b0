// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/run_words.h"

#include <algorithm>
#include <cmath>
#include <QCoreApplication>
#include <QDateTime>
#include <QLocale>

#include "ui/models/value_format.h"

namespace plimsoll::ui {

namespace {

const QString dot = QStringLiteral(" · ");

struct Words {
    Q_DECLARE_TR_FUNCTIONS(RunWords)
};

QString clock(double seconds) {
    const QDateTime when = dateTime(seconds);
    const bool today = when.date() == QDate::currentDate();
    return today ? QLocale().toString(when.time(), QLocale::ShortFormat)
                 : QLocale().toString(when, QLocale::ShortFormat);
}

QString ranksText(std::int64_t ranks) { return ranks == 1 ? Words::tr("1 rank") : Words::tr("%1 ranks").arg(ranks); }

// "3 h 23 min", "12 min", "45 s": what a person plans with.
QString duration(double seconds) {
    const auto total = static_cast<qint64>(std::llround(std::clamp(seconds, 0.0, 1e12)));
    const qint64 days = total / 86400, hours = total / 3600 % 24, minutes = total / 60 % 60;
    if (days > 0) return Words::tr("%1 d %2 h").arg(days).arg(hours);
    if (hours > 0) return Words::tr("%1 h %2 min").arg(hours).arg(minutes);
    if (minutes >= 5) return Words::tr("%1 min").arg(minutes);
    if (minutes > 0) return Words::tr("%1 min %2 s").arg(minutes).arg(total % 60);
    return Words::tr("%1 s").arg(total);
}

std::optional<double> latest(const RunModel& run, const char* name, int rank = 0) {
    const Pyramid* data = run.find(name, rank);
    return data == nullptr ? std::nullopt : std::optional(data->value(data->size() - 1));
}

QString latestText(const RunModel& run, const char* name, ValueKind kind) {
    const auto value = latest(run, name);
    return value ? formatValue(kind, *value) : QString();
}

QString joined(std::initializer_list<QString> parts) {
    QStringList filled;
    for (const QString& part : parts)
        if (!part.isEmpty()) filled << part;
    return filled.join(dot);
}

// "layer 9" before "layer 10". (QCollator's numeric mode does nothing in the C locale.)
bool naturalLess(const QString& a, const QString& b) {
    qsizetype i = 0, j = 0;
    while (i < a.size() && j < b.size()) {
        if (a[i].isDigit() && b[j].isDigit()) {
            const qsizetype from_a = i, from_b = j;
            while (i < a.size() && a[i].isDigit()) ++i;
            while (j < b.size() && b[j].isDigit()) ++j;
            const auto number_a = a.mid(from_a, i - from_a).toULongLong();
            const auto number_b = b.mid(from_b, j - from_b).toULongLong();
            if (number_a != number_b) return number_a < number_b;
        } else if (a[i] != b[j]) {
            return a[i] < b[j];
        } else {
            ++i;
            ++j;
        }
    }
    return a.size() - i < b.size() - j;
}

}  // namespace

QDateTime dateTime(double seconds) {
    // A damaged file may say anything: years 1 to 9999 are shown.
    return QDateTime::fromMSecsSinceEpoch(static_cast<qint64>(std::clamp(seconds, -6e10, 2.5e11) * 1000));
}

QString runStatusText(RunStatus status) {
    switch (status) {
        case RunStatus::Starting:
            return Words::tr("starting");
        case RunStatus::Running:
            return Words::tr("running");
        case RunStatus::Stopping:
            return Words::tr("stopping");
        case RunStatus::Finished:
            return Words::tr("finished");
        case RunStatus::Stopped:
            return Words::tr("stopped");
        case RunStatus::Failed:
            return Words::tr("failed");
    }
    return {};
}

QString statusWords(const RunModel& run) {
    if (!run.isOpen()) return {};
    if (run.isVanished()) return Words::tr("no longer there");
    const RunState& state = run.state();
    const QString status = runStatusText(state.status);
    if (state.started <= 0) return status;
    const QString ranks = ranksText(state.world_size);
    if (state.ended > 0)
        return Words::tr("%1 on %2 at %3 after %4")
            .arg(status, ranks, clock(state.ended), duration(run.secondsElapsed()));
    return Words::tr("%1 on %2 since %3").arg(status, ranks, clock(state.started));
}

QString progressWords(const RunModel& run) {
    const Pyramid* loss = run.find(series::loss);
    if (loss == nullptr) return {};
    const std::int64_t total = run.totalSteps();
    QString words = Words::tr("step <b>%1</b>").arg(formatStep(static_cast<double>(run.step())));
    if (total <= 0) return words;
    const auto percent =
        static_cast<int>(std::clamp(static_cast<double>(run.step()) * 100 / static_cast<double>(total), 0.0, 100.0));
    words = Words::tr("%1 of %2 · %3 %").arg(words, formatStep(static_cast<double>(total))).arg(percent);
    const double left = run.secondsLeft();
    if (left >= 0) words += dot + Words::tr("<b>%1</b> left").arg(duration(left));
    return words;
}

std::optional<double> movingAverage(const Pyramid& data) {
    constexpr double keep = 0.98;
    double sum = 0;
    double weights = 0;
    double weight = 1;
    for (std::size_t i = data.size(); i-- > 0 && weight > 1e-3;) {
        if (!std::isfinite(data.value(i))) continue;
        sum += weight * data.value(i);
        weights += weight;
        weight *= keep;
    }
    return weights > 0 ? std::optional(sum / weights) : std::nullopt;
}

std::optional<double> recentMedian(const Pyramid& data, std::size_t count) {
    std::vector<double> values;
    for (std::size_t i = data.size(); i-- > 0 && values.size() < count;)
        if (std::isfinite(data.value(i))) values.push_back(data.value(i));
    if (values.empty()) return std::nullopt;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

QString slowRankWords(const RunModel& run) {
    std::vector<double> times;
    int slowest = 0;
    double worst = 0;
    for (int rank = 0; rank < run.rankCount(); ++rank) {
        const Pyramid* data = run.find(series::step_time, rank);
        const auto time = data == nullptr ? std::nullopt : recentMedian(*data);
        if (!time) continue;
        times.push_back(*time);
        if (*time > worst) {
            worst = *time;
            slowest = rank;
        }
    }
    if (times.size() < 2) return {};
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>((times.size() - 1) / 2);
    std::nth_element(times.begin(), middle, times.end());
    const double over = *middle > 0 ? worst / *middle - 1 : 0;
    if (over < 0.03) return {};
    return Words::tr("rank %1 is %2 % slower").arg(slowest).arg(std::llround(std::min(over, 1e6) * 100));
}

QString lossWords(const RunModel& run) {
    const Pyramid* loss = run.find(series::loss);
    if (loss == nullptr) return {};
    const auto mean = movingAverage(*loss);
    return joined({latestText(run, series::loss, ValueKind::Plain),
                   mean ? Words::tr("EMA %1").arg(formatValue(ValueKind::Plain, *mean)) : QString()});
}

QString validationWords(const RunModel& run) {
    const Pyramid* data = run.find(series::validation_loss);
    if (data == nullptr) return {};
    return Words::tr("validation %1 at step %2")
        .arg(formatValue(ValueKind::Plain, data->value(data->size() - 1)),
             formatStep(static_cast<double>(data->step(data->size() - 1))));
}

QString gradNormWords(const RunModel& run) {
    const QString now = latestText(run, series::grad_norm, ValueKind::Plain);
    if (now.isEmpty() || !run.plan() || run.plan()->optimizer.clip <= 0) return now;
    return joined({now, Words::tr("clipped at %1").arg(QLocale().toString(run.plan()->optimizer.clip, 'g', 4))});
}

QString learningRateWords(const RunModel& run) {
    const QString now = latestText(run, series::lr, ValueKind::Scientific);
    if (now.isEmpty() || !run.plan()) return now;
    return Words::tr("%1 of %2").arg(now, formatValue(ValueKind::Scientific, run.plan()->optimizer.lr));
}

QString lossScaleWords(const RunModel& run) {
    const auto overflows = std::count_if(run.events().begin(), run.events().end(),
                                         [](const Event& event) { return event.kind == "overflow"; });
    return joined({latestText(run, series::loss_scale, ValueKind::PowerOfTwo),
                   overflows == 0   ? QString()
                   : overflows == 1 ? Words::tr("1 overflow")
                                    : Words::tr("%1 overflows").arg(overflows)});
}

QString throughputWords(const RunModel& run) {
    return joined({latestText(run, series::tokens_per_second, ValueKind::Short), slowRankWords(run)});
}

QString memoryWords(const RunModel& run) {
    double peak = 0;
    for (int rank = 0; rank < run.rankCount(); ++rank)
        peak = std::max(peak, latest(run, series::memory_peak, rank).value_or(0));
    if (peak <= 0) return {};
    QString words = Words::tr("%1 peak").arg(formatValue(ValueKind::Bytes, peak));
    if (run.predictedMemory().empty()) return words;
    const Bytes predicted = *std::max_element(run.predictedMemory().begin(), run.predictedMemory().end());
    return joined(
        {words, Words::tr("predicted %1").arg(formatValue(ValueKind::Bytes, static_cast<double>(predicted)))});
}

QString stepTimeWords(const RunModel& run) {
    const Pyramid* data = run.find(series::step_time);
    const auto median = data == nullptr ? std::nullopt : recentMedian(*data);
    return median ? joined({formatValue(ValueKind::Seconds, *median), slowRankWords(run)}) : QString();
}

std::optional<RunNotice> noticeFor(const RunModel& run, bool store_is_empty) {
    using Action = RunNotice::Action;
    if (!run.isOpen()) {
        if (store_is_empty)
            return RunNotice{.sentence = Words::tr("No run yet. Train starts one from the plan and shows it here."),
                             .action = Action::Train,
                             .empty = true};
        return RunNotice{.sentence = Words::tr("No run is open. Choose one above, or take the newest."),
                         .action = Action::ShowNewest,
                         .empty = true};
    }
    const bool has_points = !run.series().series().empty();
    if (run.isVanished())
        return RunNotice{
            .sentence = has_points
                            ? Words::tr("The folder %1 is gone: it was moved or deleted. What has been read stays "
                                        "here until another run is opened.")
                                  .arg(run.runPath())
                            : Words::tr("The folder %1 is not there: it was moved or deleted.").arg(run.runPath()),
            .action = store_is_empty ? Action::Train : Action::ShowNewest,
            .bad = true,
            .empty = !has_points};
    if (run.state().status == RunStatus::Failed && !run.isLive())
        return RunNotice{.sentence = run.state().reason.empty() ? Words::tr("The run failed; its logs say more.")
                                                                : QString::fromStdString(run.state().reason),
                         .action = Action::OpenLogs,
                         .bad = true};
    if (!run.problem().isEmpty())
        return RunNotice{.sentence = run.problem(), .action = Action::OpenLogs, .bad = true, .empty = !has_points};
    if (run.isLoading()) return RunNotice{.sentence = Words::tr("Reading the history…"), .loading = true};
    if (!has_points && run.isLive())
        return RunNotice{.sentence = Words::tr("The ranks are starting; the first step appears in a moment.")};
    if (!has_points)
        return RunNotice{.sentence = Words::tr("The run ended before its first step."), .action = Action::OpenLogs};
    if (run.state().status == RunStatus::Stopped && !run.state().reason.empty())
        return RunNotice{.sentence = QString::fromStdString(run.state().reason)};
    return std::nullopt;
}

EventTone eventTone(const std::string& kind) {
    for (const char* quiet : {"start", "checkpoint", "resume", "sample", "stop", "end", "validation", "supervise",
                              "stop_requested", "stopped", "finished"})
        if (kind == quiet) return EventTone::Quiet;
    for (const char* bad : {"error", "failed", "spike", "nonfinite"})
        if (kind == bad) return EventTone::Bad;
    return EventTone::Warn;
}

QString eventLabel(const std::string& kind) {
    if (kind == "checkpoint") return Words::tr("checkpoint");
    if (kind == "resume") return Words::tr("resumed");
    if (kind == "overflow") return Words::tr("overflow");
    if (kind == "stop") return Words::tr("stopped");
    if (kind == "error" || kind == "failed") return Words::tr("failed");
    if (kind == "spike") return Words::tr("spike");
    if (kind == "nonfinite") return Words::tr("not finite");
    return QString::fromStdString(kind);
}

std::optional<Sample> latestSample(const RunModel& run) {
    const auto event =
        std::find_if(run.events().rbegin(), run.events().rend(), [](const Event& e) { return e.kind == "sample"; });
    if (event == run.events().rend()) return std::nullopt;
    const auto detail = [&](const char* key) {
        const auto at = event->details.find(key);
        return at != event->details.end() && at->is_string() ? QString::fromStdString(at->get<std::string>())
                                                             : QString();
    };
    Sample sample{.step = static_cast<std::int64_t>(event->step), .prompt = detail("prompt"), .text = detail("text")};
    if (sample.text.isEmpty()) sample.text = QString::fromStdString(event->sentence);
    if (!sample.prompt.isEmpty() && sample.text.startsWith(sample.prompt)) sample.text.remove(0, sample.prompt.size());
    return sample;
}

LayerNorms latestLayerNorms(const RunModel& run) {
    const std::string prefix = series::layer_norm_prefix;
    LayerNorms norms;
    const auto& all = run.series().series();
    for (auto at = all.lower_bound(prefix); at != all.end() && at->first.starts_with(prefix); ++at) {
        const Pyramid& data = at->second;
        if (data.size() == 0 || at->first.find('@') != std::string::npos) continue;
        const auto step = static_cast<std::int64_t>(data.step(data.size() - 1));
        if (step > norms.step) {
            norms.step = step;
            norms.layers.clear();
        }
        if (step == norms.step)
            norms.layers.emplace_back(QString::fromStdString(at->first.substr(prefix.size())),
                                      data.value(data.size() - 1));
    }
    std::sort(norms.layers.begin(), norms.layers.end(),
              [](const auto& a, const auto& b) { return naturalLess(a.first, b.first); });
    return norms;
}

}  // namespace plimsoll::ui
