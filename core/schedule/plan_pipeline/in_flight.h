// SPDX-License-Identifier: Apache-2.0
// How many micro-batches a pipeline rank keeps activations of.
#pragma once

#include <cstdint>
#include <vector>

#include "core/schedule/schedule.h"

namespace plimsoll {

/// Per rank, the most stage micro-batches alive at once (a rank's whole micro-batch is `chunks` of them): m for GPipe,
/// min(m, p - rank) for 1F1B, p and 2p - 1 for ZB-H1 and ZB-H2, the limit for ZB-1p and ZB-2p; the others are counted
/// on their lists, which for more than a few micro-batches a rank does not depend on m. One when there is a single
/// rank: gradient accumulation runs each backward right after its forward. A weight backward gives its micro-batch
/// back.
std::vector<std::int64_t> peaks_in_flight(Schedule kind, std::int64_t ranks, std::int64_t micro_batches,
                                          std::int64_t chunks);

/// The same for the plan, counted on its list where layout.schedule_file is set. Error where plan_schedule refuses it.
Result<std::vector<std::int64_t>> peaks_in_flight(const Plan& plan);

}  // namespace plimsoll
