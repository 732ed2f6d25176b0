// SPDX-License-Identifier: Apache-2.0
// The lines of the checklist that a run's records decide, a family each.
#pragma once

#include "core/doctor/findings/sheet.h"
#include "core/doctor/plan_checks/plan_facts.h"
#include "core/doctor/run_checks/run_facts.h"

namespace plimsoll::doctor {

/// out-of-memory, measured-memory. `plan` is null where the run's plan is impossible.
void check_out_of_memory(const RunFacts& run, const PlanFacts* plan, Sheet& sheet);
/// nonfinite, bad-data, overflow, loss-scale, initial-loss.
void check_run_numbers(const RunFacts& run, Sheet& sheet);
/// dead-layers, exploding-layers.
void check_run_layers(const RunFacts& run, Sheet& sheet);
/// lr-too-high, lr-too-low, spikes, clipped-steps, overfit.
void check_run_rate(const RunFacts& run, Sheet& sheet);
/// data, communication where the waits are recorded, predicted, throughput, beside-steps.
void check_run_speed(const RunFacts& run, const PlanFacts* plan, Sheet& sheet);
/// straggler.
void check_straggler(const RunFacts& run, Sheet& sheet);
/// ended, rollbacks. Comes after the other checks: an end that they have explained needs no finding of its own.
void check_run_end(const RunFacts& run, bool explained, Sheet& sheet);

/// Whether the run failed for want of memory.
bool ran_out_of_memory(const RunFacts& run);

}  // namespace plimsoll::doctor
