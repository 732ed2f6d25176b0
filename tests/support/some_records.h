// SPDX-License-Identifier: Apache-2.0
// A few points and an event of two ranks, and their export.
#pragma once

#include <limits>

#include "core/interop/records/records_export.h"

namespace plimsoll {

inline SeriesStore some_records() {
    SeriesStore store;
    TelemetryBatch batch;
    batch.units[series::loss] = "nats, \"a token\"";
    for (std::uint64_t step = 0; step < 3; ++step) {
        batch.points[series::loss].push_back(
            {step, 1000.5 + static_cast<double>(step), 5.0 - static_cast<double>(step)});
    }
    batch.points["grad_norm/layers.0"].push_back({1, 1001.5, std::numeric_limits<double>::quiet_NaN()});
    batch.events.push_back({2, 1002.5, EventKind::Checkpoint, "step 2 is saved", Json::object()});
    store.apply(batch);
    TelemetryBatch other;
    other.points[series::memory].push_back({0, 1000.5, 4096});
    store.apply(other, 1);
    return store;
}

inline Result<std::string> records_as(RecordFormat format) {
    std::string text;
    const auto written =
        export_records(some_records(), format, "run \"a\"", [&](std::string_view bytes) -> Result<void> {
            text += bytes;
            return {};
        });
    return written.map([&] { return text; });
}

}  // namespace plimsoll
