// SPDX-License-Identifier: Apache-2.0
// Number of micro-batches whose activations a pipeline rank keeps.
#pragma once

#include <cstdint>
#include <vector>

#include "core/schedule/schedule.h"

namespace plimsoll {

/// Per rank, the most stage micro-batches alive at once (a rank's whole micro-batch is `chunks` of them): m for GPipe,
/// min(m, p - rank) for 1F1B, p and 2p - 1 for ZB-H1 and ZB-H2, the limit for ZB-1p and ZB-2p; the other schedules are
/// counted on their lists; beyond a few micro-batches per rank the count does not depend on m. A single rank keeps one:
/// gradient accumulation runs each backward right after its forward. A weight backward gives its micro-batch back.
std::vector<std::int64_t> peaks_in_flight(Schedule kind, std::int64_t ranks, std::int64_t micro_batches,
                                          std::int64_t chunks);

/// The same for the plan, counted on its list where layout.schedule_file is set. Error where plan_schedule refuses it.
Result<std::vector<std::int64_t>> peaks_in_flight(const Plan& plan);

}  // namespace plimsoll
