// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/pipeline/what_if.h"
#include "core/schedule/stage_times.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace plimsoll::ui {

namespace {

int toInt(std::int64_t value) {
    return static_cast<int>(std::clamp<std::int64_t>(value, 1, std::numeric_limits<int>::max()));
}

}  // namespace

WhatIf whatIfOf(const Plan& plan) {
    const Layout& layout = plan.layout;
    WhatIf own;
    own.schedule = layout.schedule;
    own.ranks = toInt(layout.pp);
    own.microBatches = toInt(layout.accumulation);
    own.chunks = toInt(layout.chunks);
    return own;
}

Plan withWhatIf(Plan plan, const WhatIf& tried) {
    // A list from a file has the plan's shape only.
    const WhatIf own = whatIfOf(plan);
    if (tried.schedule != own.schedule || tried.ranks != own.ranks || tried.microBatches != own.microBatches ||
        tried.chunks != own.chunks)
        plan.layout.schedule_file.clear();
    plan.layout.schedule = tried.schedule;
    plan.layout.pp = tried.ranks;
    plan.layout.accumulation = tried.microBatches;
    plan.layout.chunks = tried.chunks;
    return plan;
}

Result<Pipeline> simulateWhatIf(const WhatIf& tried, const Plan& plan) {
    if (tried.planTimes) {
        const Plan next = withWhatIf(plan, tried);
        const std::vector<std::int64_t> layers = layers_per_stage(next);
        if (*std::min_element(layers.begin(), layers.end()) < 1)
            return bad_input("{} stages are more than the {} layers", layers.size(),
                             std::accumulate(layers.begin(), layers.end(), std::int64_t{0}));
        return simulate_pipeline(next);
    }
    const Schedule kind = tried.ranks > 1 ? tried.schedule : Schedule::OneFOneB;
    const int chunks = static_cast<int>(chunks_of(kind, tried.chunks));
    return simulate_pipeline(
        kind, {tried.ranks, tried.microBatches, chunks},
        StageTimes::uniform(tried.ranks * chunks, tried.forward / chunks, tried.backwardInput / chunks,
                            tried.backwardWeight / chunks, tried.send));
}

bool readsChunks(Schedule schedule) { return takes_chunks(schedule); }

}  // namespace plimsoll::ui
