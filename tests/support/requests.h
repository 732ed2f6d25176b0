// SPDX-License-Identifier: Apache-2.0
// Small requests, whose spaces can be gone through by hand.
#pragma once

#include "core/planner/planner.h"
#include "tests/support/plans.h"

namespace plimsoll {

inline PlanRequest request_for(const std::string& preset, std::int64_t gpus, std::int64_t batch,
                               const std::string& gpu = "A100 SXM4 80GB") {
    PlanRequest request;
    request.plan = gpu_plan(preset);
    request.plan.cluster = {gpu, std::min<std::int64_t>(gpus, 8), std::max<std::int64_t>(gpus / 8, 1), 0, 25};
    request.global_batch = batch;
    request.keep = 30;
    return request;
}

}  // namespace plimsoll
