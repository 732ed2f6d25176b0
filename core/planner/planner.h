// SPDX-License-Identifier: Apache-2.0
// The best layouts of a model on a cluster.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/planner/request.h"
#include "core/step_time/step_time.h"

namespace plimsoll {

struct Candidate {
    Cluster cluster;  ///< the GPUs that the layout takes: the plan's, or fewer
    Layout layout;
    Bytes peak = 0;            ///< of the fullest rank (estimate_under the request's framework)
    Bytes host = 0;            ///< host memory of the rank that offloads most
    double out_of_memory = 0;  ///< probability that the peak exceeds the memory (out_of_memory_probability)
    StepTime time;
    Seconds step = 0;
    double tokens_per_second = 0;
    double mfu = 0;
    double price_per_million_tokens = 0;  ///< 0 without a price
    bool on_front = false;                ///< no layout is better in memory, time and GPUs together

    std::int64_t gpus() const { return cluster.world_size(); }
};

/// The plan with the candidate's GPUs and layout.
Plan plan_of(const PlanRequest& request, const Candidate& candidate);
/// The cluster's host memory that the candidate needs on one machine.
Bytes host_of_machine(const Candidate& candidate);
/// Sets the candidate's times on that hardware.
void set_times(const PlanRequest& request, const Hardware& hardware, Candidate& candidate);
/// Time and cost of the request's tokens with the candidate.
Budget budget_of(const PlanRequest& request, const Candidate& candidate);

/// The least change with which a layout fits, found when no layout does.
struct Relaxation {
    std::string words;                   ///< "48 GPUs instead of 32", "global batch 96 instead of 100"
    std::vector<std::string> settings;   ///< key=value of the plan; empty where the change is a choice of the request
    std::optional<Candidate> candidate;  ///< the best layout after the change
};

/// Why a change of one dimension of the best layout was not taken.
struct Neighbour {
    std::string change;  ///< "tp 4 instead of 8"
    std::string reason;  ///< "needs 91.2 GiB of 79.2 GiB", "12.1 % slower: …", "layout.tp 3 does not divide …"
    std::optional<Candidate> candidate;
};

struct SearchCounts {
    std::int64_t layouts = 0;    ///< possible layouts in the space
    std::int64_t evaluated = 0;  ///< layouts whose memory and time were computed
    std::int64_t pruned = 0;  ///< layouts ruled out by a bound: states alone exceed memory, or slower than the ranked
    Seconds seconds = 0;
    int threads = 1;
};

struct PlanResult {
    /// Best first by the objective, at most `keep`; all fit. Layouts that are the same run (ZeRO stages on one rank) are
    /// one row.
    std::vector<Candidate> ranked;
    std::vector<Candidate> front;  ///< Pareto front over memory, step time and GPUs, by step time
    SearchCounts counts;
    std::string binding;                  ///< the constraint that leaves no layout; empty where there is a layout
    std::vector<Relaxation> relaxations;  ///< nearest first; only when nothing fits
    std::optional<Candidate> leanest;     ///< the layout of least memory, whether it fits or not
    std::vector<std::string> notes;       ///< on unequal GPUs, and on layouts that were left out
};

/// Called from the searching thread with the results so far (ranked and counts only), a few times a second and within
/// the first 100 ms.
using PlanProgress = std::function<void(const PlanResult&)>;

/// Searches dp x tp x sp x cp x pp x chunks x schedule x ep x ZeRO x micro-batch x recomputation x offload. Every layout
/// that is possible, and that the framework trains, is evaluated (MemoryCounter, StepTimer) or ruled out by a bound: its
/// states alone exceed what fits, or it is slower than all kept layouts and no leaner than the front. A layout fits when
/// its peak runs out of memory with at most 1 - fit_probability, and a machine holds what its ranks offload. `cancel`
/// ends the search early with the results so far. Error for a plan that is impossible whatever its layout, and for
/// choices that no cluster or model of this kind can have.
Result<PlanResult> plan_layouts(const PlanRequest& request, const PlanProgress& progress = {},
                                const std::atomic<bool>* cancel = nullptr);

/// Common advice for a model of this size, beside the search's results: "up to 7B one A100 80GB", "70B and up ZeRO-3",
/// "bf16 from Ampere on", "a trillion parameters 64 x 8 x 16".
struct Recommendation {
    std::string rule;
    std::string source;
    bool holds = false;  ///< whether the advice suits this request's plan and best layout
    std::string why;     ///< with this plan's numbers
};

}  // namespace plimsoll
