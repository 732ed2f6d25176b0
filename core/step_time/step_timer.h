// SPDX-License-Identifier: Apache-2.0
// Step times of many layouts of one plan, as fast as a search needs them.
#pragma once

#include <memory>

#include "core/step_time/step_time.h"

namespace plimsoll {

/// The result of step_time(plan) for each layout, without simulation. A layer's and the ends' times, the stages and
/// their parameters are kept from one layout to the next, so a search that changes ZeRO, offload, accumulation and
/// schedule innermost is fastest. For one thread.
///
/// Data parallelism: ZeRO-0 all-reduces the gradients, ZeRO-1 reduce-scatters them and gathers the parameters, ZeRO-2
/// reduce-scatters each micro-batch's, ZeRO-3 gathers the parameters twice and reduce-scatters for each micro-batch
/// (Rajbhandari 2020, section 7). Gradients travel behind the last backward as far as efficiency.gradient_overlap says;
/// ZeRO-3's transfers behind each pass. Update: passes over gradients, masters and moments in memory, or on the host
/// with the transfers there (ZeRO-Offload, Ren 2021).
class StepTimer {
public:
    StepTimer(const Plan& plan, const Hardware& hardware);
    ~StepTimer();
    StepTimer(const StepTimer&) = delete;
    StepTimer& operator=(const StepTimer&) = delete;

    /// The layout has to be possible (check_plan). A schedule from a file is not read: layout.schedule counts.
    StepTime time(const Layout& layout);

    /// A lower bound for every layout with these ranks, micro-batch and recomputation, whatever its ZeRO stage,
    /// schedule and split: the work of all micro-batches on the mean pipeline rank, without bubble, sends,
    /// data-parallel links and update.
    Seconds at_least(const Layout& layout);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace plimsoll
