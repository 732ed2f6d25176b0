// SPDX-License-Identifier: Apache-2.0
#include "core/interop/records/records_steps.h"

#include <algorithm>

namespace plimsoll {

Result<void> for_each_step(const SeriesStore& store, const std::function<Result<void>(const RecordedStep&)>& take) {
    struct Cursor {
        const std::string* name;
        const Pyramid* series;
        std::size_t at = 0;
    };
    std::vector<Cursor> cursors;
    for (const auto& [name, series] : store.series()) cursors.push_back({&name, &series});
    RecordedStep step;
    while (true) {
        step.step = UINT64_MAX;
        for (const Cursor& each : cursors) {
            if (each.at < each.series->size()) step.step = std::min(step.step, each.series->step(each.at));
        }
        if (step.step == UINT64_MAX) return {};
        step.time = 0;
        step.values.clear();
        for (Cursor& each : cursors) {
            if (each.at >= each.series->size() || each.series->step(each.at) != step.step) continue;
            step.time = std::max(step.time, each.series->time(each.at));
            step.values.emplace_back(each.name, each.series->value(each.at));
            ++each.at;
        }
        if (auto taken = take(step); !taken) return taken;
    }
}

double first_time(const SeriesStore& store) {
    double first = 0;
    for (const auto& [name, series] : store.series()) {
        if (series.size() > 0) first = first == 0 ? series.time(0) : std::min(first, series.time(0));
    }
    return first;
}

}  // namespace plimsoll
