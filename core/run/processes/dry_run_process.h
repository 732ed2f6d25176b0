// SPDX-License-Identifier: Apache-2.0
// A dry run in a process of its own: the engine needs LibTorch, which the calling program does not link.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/plan/plan.h"

namespace plimsoll {

struct DryRunRequest {
    std::vector<int> ranks{0};
    std::string allocator_settings;  ///< as PYTORCH_CUDA_ALLOC_CONF
    Bytes capacity = 0;              ///< card memory for tensors; 0: unlimited
    std::filesystem::path timeline;  ///< a file for the first rank's memory over time (core/allocator/timeline_file.h)
    std::filesystem::path trace;     ///< a file for each allocation of the first rank
    Json routing;                    ///< for each rank, {"0": …}: "routing" of a real run's event "memory"
    bool all_micro_batches = false;  ///< also micro-batches that only repeat others
    std::filesystem::path worker;    ///< empty: find_worker()'s
};

/// What `plimsoll-worker --dry-run` prints: "plan", "device", "ranks" (core/engine/dry_run/dry_run_report.h). Error:
/// the worker's last sentence, with its kind.
Result<Json> run_dry(const Plan& plan, const DryRunRequest& request);

}  // namespace plimsoll
