// SPDX-License-Identifier: Apache-2.0
// The verdict of an export's own stack: does the plan fit under the program that will train it?
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/frameworks/framework.h"
#include "core/plan/plan.h"

namespace plimsoll::exports {

/// The program whose memory the exported training takes: Megatron-LM, torchtitan (and FSDP of Accelerate, which is the
/// same FSDP2), DeepSpeed, or the Trainer's own data parallelism. None for launchers, environments and job
/// descriptions, which start anything.
std::optional<Framework> framework_of(const Plan& plan, std::string_view target);

/// A chance of running out of memory that is told, as a share.
inline constexpr double told_out_of_memory_chance = 0.05;

/// A sentence where the plan does not fit under `framework`, where its chance of running out of memory there is above
/// told_out_of_memory_chance, or where the framework's memory cannot be estimated. Nothing for plans on the CPU.
std::optional<std::string> fit_note(const Plan& plan, Framework framework);

}  // namespace plimsoll::exports
