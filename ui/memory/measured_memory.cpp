// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/memory/measured_memory.h"

#include <algorithm>
#include <cmath>
#include <QCoreApplication>
#include <QLocale>

#include "core/base/json.h"
#include "core/telemetry/contract/event_contents.h"
#include "core/telemetry/contract/event_kind.h"
#include "core/telemetry/contract/run_layout.h"
#include "ui/common/value_format.h"
#include "ui/run/run_model.h"

namespace plimsoll::ui {

namespace {

struct Measured {
    Q_DECLARE_TR_FUNCTIONS(Measured)
};

constexpr double same = 0.0005;

/// Nothing where a kind is missing, as in an event of another version.
std::optional<MeasuredMemory::Kinds> kindsOf(const NamedBytes& categories) {
    MeasuredMemory::Kinds kinds{};
    bool any = false;
    for (std::size_t c = 0; c < kinds.size(); ++c) {
        kinds[c] = bytes_of(categories, category_names[c]);
        any = any || kinds[c] > 0;
    }
    return any ? std::optional(kinds) : std::nullopt;
}

/// The event of the latest start with the highest peak that gives its kinds.
std::optional<MeasuredMemory> fromEvents(const RunModel& run) {
    std::optional<MeasuredMemory> best;
    const double start = run.series().latest_start();
    for (const Event& event : run.events()) {
        if (event.kind != EventKind::Memory || event.time < start) continue;
        const auto recorded = MemoryEvent::from_json(event.details);
        if (!recorded || (best && recorded->peak <= best->measured)) continue;
        best = MeasuredMemory{};
        best->rank = static_cast<int>(std::min<std::int64_t>(recorded->rank, max_ranks));
        best->step = event.step;
        best->measured = recorded->peak;
        best->by_kind = kindsOf(recorded->categories);
    }
    return best;
}

std::optional<MeasuredMemory> fromSeries(const RunModel& run) {
    MeasuredMemory best;
    for (int rank = 0; rank < run.rankCount(); ++rank) {
        const Pyramid* data = run.find(series::memory_peak, rank);
        if (data == nullptr || data->size() == 0) continue;
        if (data->time(data->size() - 1) < run.series().latest_start()) continue;
        const double peak = data->value(data->size() - 1);
        if (!std::isfinite(peak) || peak <= static_cast<double>(best.measured)) continue;
        best.measured = static_cast<Bytes>(peak);
        best.rank = rank;
    }
    return best.measured > 0 ? std::optional(best) : std::nullopt;
}

}  // namespace

std::optional<MeasuredMemory> measuredMemory(const RunModel& run) {
    auto memory = fromEvents(run);
    if (!memory) memory = fromSeries(run);
    if (!memory || static_cast<std::size_t>(memory->rank) >= run.predictedKinds().size()) return std::nullopt;
    memory->predicted_by_kind = run.predictedKinds()[static_cast<std::size_t>(memory->rank)];
    memory->predicted_by_kind[static_cast<std::size_t>(Category::Overhead)] = 0;
    for (const Bytes bytes : memory->predicted_by_kind) memory->predicted += bytes;
    return memory;
}

QString measuredWords(const MeasuredMemory& memory) {
    const double off = memory.off();
    if (std::abs(off) < same) return Measured::tr("as predicted");
    const QString percent = QLocale().toString(std::abs(off) * 100, 'f', 1);
    return (off > 0 ? Measured::tr("predicted %1 % too much") : Measured::tr("predicted %1 % too little")).arg(percent);
}

QString measuredWhere(const MeasuredMemory& memory) {
    if (memory.step == 0) return Measured::tr("Rank %1, the whole run").arg(memory.rank);
    return Measured::tr("Rank %1 in step %2").arg(memory.rank).arg(formatStep(static_cast<double>(memory.step)));
}

}  // namespace plimsoll::ui
