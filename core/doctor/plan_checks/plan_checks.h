// SPDX-License-Identifier: Apache-2.0
// The lines of the checklist that the plan alone decides, a family each.
#pragma once

#include <string>
#include <vector>

#include "core/doctor/findings/sheet.h"
#include "core/doctor/plan_checks/plan_facts.h"

namespace plimsoll::doctor {

/// Settings that are tried together: "layout.dp=8".
using Settings = std::vector<std::string>;
/// Source of what a change would cost or win in time.
inline constexpr auto model_of_time = "the step-time model (plimsoll validate step-time)";

/// fits.
void check_memory(const PlanFacts& facts, Sheet& sheet);
/// The guide's ways to need less memory, one by one.
void check_levers(const PlanFacts& facts, Sheet& sheet);
/// half-precision, clipping.
void check_numbers(const Plan& plan, Sheet& sheet);
/// small-updates, state-precision.
void check_rounding(const Plan& plan, Sheet& sheet);
/// warmup, batch-rule.
void check_learning_rate(const Plan& plan, Sheet& sheet);
/// optimizer, weight-decay.
void check_optimizer(const Plan& plan, Sheet& sheet);
/// micro-batch, recompute-needed, attention, tensor-cores.
void check_speed(const PlanFacts& facts, Sheet& sheet);
/// communication, overlap, nodes, bubble.
void check_links(const PlanFacts& facts, Sheet& sheet);
/// guard, checkpoints.
void check_upkeep(const Plan& plan, Sheet& sheet);

/// The setting of optimizer.lr to `factor` times its value, with three significant digits.
std::string lr_setting(const Plan& plan, double factor);
/// The changes that make an unstable run stabler: half the rate, a longer warmup, a guard that acts.
std::vector<FindingChange> calming_changes(const Plan& plan);

}  // namespace plimsoll::doctor
