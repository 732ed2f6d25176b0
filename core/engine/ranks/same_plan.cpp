// SPDX-License-Identifier: Apache-2.0
#include "core/engine/ranks/same_plan.h"

#include "core/plan/plan_io.h"
#include "core/telemetry/frame.h"

namespace plimsoll::engine {

Result<void> require_same_plan(const Plan& plan, Collectives& world) {
    const auto own = static_cast<std::int64_t>(crc32c(to_json(plan).dump()));
    const torch::Tensor first = torch::full({1}, own, torch::kInt64);
    if (auto sent = world.broadcast(first, 0); !sent) return sent;
    const bool same = first.item<std::int64_t>() == own;
    const torch::Tensor odd = torch::full({1}, same ? -1 : world.rank(), torch::kInt64);
    if (auto done = world.all_reduce_max(odd)->wait(); !done) return done;
    const auto rank = odd.item<std::int64_t>();
    if (rank < 0) return {};
    return bad_input(
        "rank {} has another plan than rank 0: start all ranks with the same run folder and the same version of "
        "plimsoll-worker",
        rank);
}

}  // namespace plimsoll::engine
