// SPDX-License-Identifier: Apache-2.0
#include "core/calibration/peak_record.h"

#include <algorithm>
#include <cmath>

#include "core/base/json.h"
#include "core/estimate/estimate.h"
#include "core/run/run_telemetry.h"
#include "core/telemetry/contract/event_contents.h"
#include "core/telemetry/contract/event_kind.h"
#include "core/telemetry/record.h"

namespace plimsoll {
namespace {

std::filesystem::path path_of(const RunFolder& run) { return run.layout().peak(); }

Bytes whole_number(const Json& json, const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_number_integer() ? std::max<Bytes>(found->get<Bytes>(), 0) : 0;
}

/// Of the latest start alone: an earlier one may have had another layout.
Bytes measured_peak(const SeriesStore& series) {
    const double start = series.latest_start();
    Bytes most = 0;
    for (const auto& event : series.events()) {
        if (event.kind != EventKind::Memory || event.time < start) continue;
        if (const auto memory = MemoryEvent::from_json(event.details)) most = std::max(most, memory->peak);
    }
    if (most > 0) return most;
    for (const auto& [name, points] : series.series()) {
        const bool peak = name == series::memory_peak || name.starts_with(std::string(series::memory_peak) + "@");
        if (!peak || points.size() == 0 || points.time(points.size() - 1) < start) continue;
        const double last = points.value(points.size() - 1);
        if (std::isfinite(last) && last > 0 && last < 1e18) most = std::max(most, static_cast<Bytes>(last));
    }
    return most;
}

Bytes estimated_tensors(const MemoryEstimate& estimate) {
    Bytes most = 0;
    for (const auto& rank : estimate.stages) most = std::max(most, rank.total() - rank.of(Category::Overhead));
    return most;
}

}  // namespace

Result<std::optional<PeakRecord>> measure_peak(const RunFolder& run) {
    PLIMSOLL_TRY(const auto plan, run.plan());
    RunTelemetry telemetry(run);
    while (telemetry.poll()) {
    }
    const auto measured = measured_peak(telemetry.series());
    PLIMSOLL_TRY(const auto estimate, estimate_memory(plan));
    const auto estimated = estimated_tensors(estimate);
    if (measured <= 0 || estimated <= 0) return std::optional<PeakRecord>();
    return PeakRecord{plan.cluster.gpu, estimated, measured};
}

Result<std::optional<PeakRecord>> record_peak(const RunFolder& run) {
    const auto record = measure_peak(run);
    if (!record || !*record) return record;
    PLIMSOLL_CHECK(write_json(path_of(run), {{"device", (*record)->device},
                                             {"estimated_bytes", (*record)->estimated},
                                             {"measured_bytes", (*record)->measured}}));
    return record;
}

std::optional<PeakRecord> read_peak(const RunFolder& run) {
    const auto json = read_json(path_of(run), MiB);
    if (!json || !json->is_object()) return std::nullopt;
    const auto device = json->find("device");
    PeakRecord record;
    if (device == json->end() || !device->is_string()) return std::nullopt;
    record.device = device->get<std::string>();
    record.estimated = whole_number(*json, "estimated_bytes");
    record.measured = whole_number(*json, "measured_bytes");
    if (record.estimated <= 0 || record.measured <= 0) return std::nullopt;
    return record;
}

}  // namespace plimsoll
