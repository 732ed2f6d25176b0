// SPDX-License-Identifier: Apache-2.0
// Facts that several checks of a plan need: its memory, its remedies, and its step's time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/estimate/estimate.h"
#include "core/remedies/remedies.h"
#include "core/step_time/step_time.h"

namespace plimsoll::doctor {

/// Changes that win less than this share of a step are not reported: the predictions' own median error is 4 %
/// (docs/planner.md).
inline constexpr double worth_telling = 0.05;

struct PlanFacts {
    Plan plan;
    MemoryEstimate memory;
    Remedies remedies;
    /// Nothing where the speed of the hardware is not known well enough to advise; `no_speed` says why.
    std::optional<Hardware> hardware;
    std::string no_speed;
    StepTime time;  ///< of the plan, where the hardware is known

    Bytes total() const { return memory.fullest().total(); }
    bool on_gpu() const { return !plan.cluster.on_cpu(); }
};

/// The plan has to be possible. Error where its GPU is not known.
Result<PlanFacts> facts_of(const Plan& plan);

/// A changed plan beside its plan.
struct Variant {
    std::vector<std::string> settings;
    Bytes total = 0;    ///< its fullest rank
    double faster = 0;  ///< throughput in tokens a second / the plan's - 1
    bool safe = false;  ///< Nothing where the changed plan is impossible or the hardware's speed is not known.
};
/// Nothing where the change is impossible or the hardware's speed is not known.
std::optional<Variant> variant_of(const PlanFacts& facts, const std::vector<std::string>& settings);
/// The variants that fit and win more than worth_telling, fastest first, at most `most`.
std::vector<Variant> fastest(const PlanFacts& facts, const std::vector<std::vector<std::string>>& all,
                             std::size_t most = 2);

/// The probability that a rank runs out of memory (core/frameworks/error_model.h).
double risk_of(const PlanFacts& facts, Bytes total);

/// "12 %", "3.4 %".
std::string percent(double share);

}  // namespace plimsoll::doctor
