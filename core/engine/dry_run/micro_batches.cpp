// SPDX-License-Identifier: Apache-2.0
#include "core/engine/dry_run/micro_batches.h"

#include <algorithm>

#include "core/schedule/in_flight.h"

namespace plimsoll::engine {

Result<std::int64_t> enough_micro_batches(const Plan& plan) {
    const Layout& layout = plan.layout;
    if (layout.pp == 1) return std::min<std::int64_t>(layout.accumulation, 2);
    const bool repeats = layout.schedule == Schedule::OneFOneB || layout.schedule == Schedule::Interleaved;
    if (!layout.schedule_file.empty() || !repeats || layout.accumulation <= 4 * layout.pp) return layout.accumulation;
    Plan fewer = plan;
    fewer.layout.accumulation = 4 * layout.pp;
    const auto all = peaks_in_flight(plan), some = peaks_in_flight(fewer);
    if (!all) return tl::unexpected(all.error());
    return some && *some == *all ? fewer.layout.accumulation : layout.accumulation;
}

}  // namespace plimsoll::engine
