// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/run/run_figures.h"

#include <algorithm>
#include <cmath>
#include <QCoreApplication>
#include <QLocale>

#include "core/telemetry/contract/event_contents.h"
#include "core/telemetry/contract/event_kind.h"
#include "ui/common/value_format.h"

namespace plimsoll::ui {

namespace {

struct FigureWords {
    Q_DECLARE_TR_FUNCTIONS(RunFigures)
};

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
    return filled.join(QStringLiteral(" · "));
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

// Embedding, layers by number, head: the way a token takes.
bool layerLess(const QString& a, const QString& b) {
    const auto embeds = [](const QString& name) { return name.startsWith(QStringLiteral("embed")); };
    return embeds(a) != embeds(b) ? embeds(a) : naturalLess(a, b);
}

}  // namespace

std::optional<double> movingAverage(const Pyramid& data) {
    // A tenth of the points so far, so that a short run's average has forgotten its beginning.
    const double memory = std::clamp(static_cast<double>(data.size()) / 10, 2.0, 50.0);
    const double keep = 1 - 1 / memory;
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
    return FigureWords::tr("rank %1 is %2 % slower").arg(slowest).arg(std::llround(std::min(over, 1e6) * 100));
}

QString lossWords(const RunModel& run) {
    const Pyramid* loss = run.find(series::loss);
    if (loss == nullptr) return {};
    const auto mean = movingAverage(*loss);
    return joined({latestText(run, series::loss, ValueKind::Plain),
                   mean ? FigureWords::tr("EMA %1").arg(formatValue(ValueKind::Plain, *mean)) : QString()});
}

QString validationWords(const RunModel& run) {
    const Pyramid* data = run.find(series::validation_loss);
    if (data == nullptr) return {};
    return FigureWords::tr("validation %1 at step %2")
        .arg(formatValue(ValueKind::Plain, data->value(data->size() - 1)),
             formatStep(static_cast<double>(data->step(data->size() - 1))));
}

QString addedLossWords(const RunModel& run) {
    const QString router = latestText(run, series::router_loss, ValueKind::Plain);
    const QString z = latestText(run, series::z_loss, ValueKind::Plain);
    return joined({router.isEmpty() ? QString() : FigureWords::tr("router %1").arg(router),
                   z.isEmpty() ? QString() : FigureWords::tr("z-loss %1").arg(z)});
}

QString gradNormWords(const RunModel& run) {
    const QString now = latestText(run, series::grad_norm, ValueKind::Plain);
    if (now.isEmpty() || !run.plan() || run.plan()->optimizer.clip <= 0) return now;
    return joined({now, FigureWords::tr("clipped at %1").arg(QLocale().toString(run.plan()->optimizer.clip, 'g', 4))});
}

QString learningRateWords(const RunModel& run) {
    const QString now = latestText(run, series::lr, ValueKind::Scientific);
    if (now.isEmpty() || !run.plan()) return now;
    return FigureWords::tr("%1 of %2").arg(now, formatValue(ValueKind::Scientific, run.plan()->optimizer.lr));
}

QString lossScaleWords(const RunModel& run) {
    const auto overflows = std::count_if(run.events().begin(), run.events().end(),
                                         [](const Event& event) { return event.kind == EventKind::Overflow; });
    return joined({latestText(run, series::loss_scale, ValueKind::PowerOfTwo),
                   overflows == 0   ? QString()
                   : overflows == 1 ? FigureWords::tr("1 overflow")
                                    : FigureWords::tr("%1 overflows").arg(overflows)});
}

QString throughputWords(const RunModel& run) {
    return joined({latestText(run, series::tokens_per_second, ValueKind::Short), slowRankWords(run)});
}

QString memoryWords(const RunModel& run) {
    double peak = 0;
    for (int rank = 0; rank < run.rankCount(); ++rank) {
        const Pyramid* data = run.find(series::memory_peak, rank);
        // Ranks of an earlier start may have had another layout than the one that is predicted.
        if (data == nullptr || data->time(data->size() - 1) < run.series().latest_start()) continue;
        peak = std::max(peak, data->value(data->size() - 1));
    }
    if (peak <= 0) return {};
    QString words = FigureWords::tr("%1 peak").arg(formatValue(ValueKind::Bytes, peak));
    if (run.predictedMemory().empty()) return words;
    const Bytes predicted = *std::max_element(run.predictedMemory().begin(), run.predictedMemory().end());
    return joined(
        {words, FigureWords::tr("predicted %1").arg(formatValue(ValueKind::Bytes, static_cast<double>(predicted)))});
}

QString stepTimeWords(const RunModel& run) {
    const Pyramid* data = run.find(series::step_time);
    const auto median = data == nullptr ? std::nullopt : recentMedian(*data);
    return median ? joined({formatValue(ValueKind::Seconds, *median), slowRankWords(run)}) : QString();
}

std::optional<Sample> latestSample(const RunModel& run) {
    const auto event = std::find_if(run.events().rbegin(), run.events().rend(),
                                    [](const Event& e) { return e.kind == EventKind::Sample; });
    if (event == run.events().rend()) return std::nullopt;
    const auto recorded = SampleEvent::from_json(event->details).value_or(SampleEvent{});
    Sample sample{.step = static_cast<std::int64_t>(event->step),
                  .prompt = QString::fromStdString(recorded.prompt),
                  .text = QString::fromStdString(recorded.text)};
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
              [](const auto& a, const auto& b) { return layerLess(a.first, b.first); });
    return norms;
}

}  // namespace plimsoll::ui
