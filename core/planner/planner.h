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
    Cluster cluster;  ///< the GPUs it takes: the plan's, or fewer
    Layout layout;
    Bytes peak = 0;  ///< of the fullest rank (estimate_memory)
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
/// Sets what the candidate takes in time, on that hardware.
void set_times(const PlanRequest& request, const Hardware& hardware, Candidate& candidate);
/// What the request's tokens take with it.
Budget budget_of(const PlanRequest& request, const Candidate& candidate);

/// What binds when no layout is left, and the least that has to give way.
struct Relaxation {
    std::string words;                   ///< "48 GPUs instead of 32", "global batch 96 instead of 100"
    std::vector<std::string> settings;   ///< key=value of the plan, or empty where it is a choice of the request
    std::optional<Candidate> candidate;  ///< the best layout with it
};

/// Why a change of one dimension of the best layout was not taken.
struct Neighbour {
    std::string change;  ///< "tp 4 instead of 8"
    std::string reason;  ///< "needs 91.2 GiB of 79.2 GiB", "12.1 % slower: …", "layout.tp 3 does not divide …"
    std::optional<Candidate> candidate;
};

struct SearchCounts {
    std::int64_t layouts = 0;    ///< possible layouts in the space
    std::int64_t evaluated = 0;  ///< of them with memory and time computed
    std::int64_t pruned = 0;  ///< of them ruled out by a bound: states alone beyond memory, or slower than the ranked
    std::int64_t fitting = 0;
    Seconds seconds = 0;
    int threads = 1;
};

struct PlanResult {
    std::vector<Candidate> ranked;  ///< best first by the objective, at most `keep`; all fit
    std::vector<Candidate> front;   ///< Pareto front over memory, step time and GPUs, by step time
    SearchCounts counts;
    std::string binding;                  ///< empty when there is a layout; else the constraint that leaves nothing
    std::vector<Relaxation> relaxations;  ///< nearest first; only when nothing fits
    std::optional<Candidate> leanest;     ///< the layout of least memory, whether it fits or not
    std::vector<std::string> notes;       ///< unequal GPUs, what was left out
};

/// Called from the searching thread with what has been found so far (ranked and counts only), a few times a second and
/// within the first 100 ms.
using PlanProgress = std::function<void(const PlanResult&)>;

/// Searches dp x tp x sp x cp x pp x chunks x schedule x ep x ZeRO x micro-batch x recomputation x offload. Every
/// possible layout is evaluated (PeakCounter, StepTimer), or ruled out by a bound that holds for it: its states alone
/// are more than the card has, or it is slower than all that are kept and no leaner than the front. `cancel` ends it
/// early with what there is. Error for a plan that is impossible whatever its layout, and for choices that no cluster
/// or model of this kind can have.
Result<PlanResult> plan_layouts(const PlanRequest& request, const PlanProgress& progress = {},
                                const std::atomic<bool>* cancel = nullptr);

/// What people are told for a model of this size, beside what the search found: "up to 7B one A100 80GB", "70B and up
/// ZeRO-3", "bf16 from Ampere on", "a trillion parameters 64 x 8 x 16".
struct Recommendation {
    std::string rule;
    std::string source;
    bool holds = false;  ///< for this request's plan and best layout
    std::string why;     ///< with this plan's numbers
};

}  // namespace plimsoll
