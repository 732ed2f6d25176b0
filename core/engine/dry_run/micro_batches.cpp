// SPDX-License-Identifier: Apache-2.0
#include "core/engine/dry_run/micro_batches.h"

#include <algorithm>

#include "core/schedule/plan_pipeline/in_flight.h"

namespace plimsoll::engine {

Result<std::int64_t> enough_micro_batches(const Plan& plan) {
    const Layout& layout = plan.layout;
    if (layout.pp == 1) return std::min<std::int64_t>(layout.accumulation, 2);
    const bool repeats = layout.schedule == Schedule::OneFOneB || layout.schedule == Schedule::Interleaved;
    if (!layout.schedule_file.empty() || !repeats) return layout.accumulation;
    PLIMSOLL_TRY(const auto all, peaks_in_flight(plan));
    for (const std::int64_t times : {2, 4}) {
        Plan fewer = plan;
        fewer.layout.accumulation = times * layout.pp;
        if (fewer.layout.accumulation >= layout.accumulation) break;
        const auto some = peaks_in_flight(fewer);
        if (some && *some == all) return fewer.layout.accumulation;
    }
    return layout.accumulation;
}

}  // namespace plimsoll::engine
