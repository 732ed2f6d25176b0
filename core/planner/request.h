// SPDX-License-Identifier: Apache-2.0
// The question that a search over layouts answers.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.h"
#include "core/frameworks/error_model.h"
#include "core/frameworks/framework.h"
#include "core/plan/plan.h"

namespace plimsoll {

enum class Objective { Time, Memory, Cost, FewestGpus };
inline constexpr std::array<std::string_view, 4> objective_names{"time", "memory", "cost", "fewest-gpus"};
inline constexpr std::string_view name_of(Objective objective) {
    return objective_names[static_cast<std::size_t>(objective)];
}

/// Values that each dimension of a layout may take; an empty list: every value that the model and the cluster allow.
struct Choices {
    std::vector<std::int64_t> tp, pp, cp, ep, zero_stage, micro_batch, chunks;
    std::vector<bool> sequence_parallel;
    std::vector<Schedule> schedule;  ///< empty: all but zb-1p and zb-2p, which take a search of their own
    std::vector<Recompute> recompute;
    std::vector<Offload> offload_optimizer;  ///< empty: none and cpu; nvme needs layout.nvme_path
    bool operator==(const Choices&) const = default;
};

struct PlanRequest {
    /// Model, cluster, numerics, optimizer, data, and the layout settings that no choice names (loss_chunks, split, …).
    Plan plan;
    std::vector<Cluster> more;      ///< further nodes with other GPUs than the plan's
    std::int64_t global_batch = 0;  ///< sequences a step; 0: the plan's
    Objective objective = Objective::Time;
    Choices choices;
    bool fewer_gpus = false;  ///< also plan for fewer GPUs than there are (fewest-gpus and cost always do)
    /// Whose memory decides what fits, and whose own limits (framework_rules.h) shape the space. Step times are
    /// Plimsoll's estimate under each.
    Framework framework = Framework::Plimsoll;
    double fit_probability = default_fit_probability;  ///< least chance that a layout does not run out of memory
    Bytes host_memory = 0;                             ///< of a machine, for what is offloaded; 0: no limit
    double headroom = 0;                               ///< share of the usable memory to keep free
    double tokens = 0;                                 ///< budget for time and GPU-hours; 0: none
    double price_per_gpu_hour = 0;
    std::size_t keep = 100;  ///< ranked layouts to give
    int threads = 0;         ///< 0: as many as there are cores
};

}  // namespace plimsoll
