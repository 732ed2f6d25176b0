// SPDX-License-Identifier: Apache-2.0
// What both of Accelerate's files hold. For core/interop/exports/accelerate*.cpp only.
#pragma once

#include "core/base/json.h"
#include "core/interop/exports/export_parts.h"

namespace plimsoll::exports::accelerate {

inline constexpr std::string_view title = "Accelerate's file";

/// The keys beside deepspeed_config, fsdp_config and parallelism_config.
Json head(const Plan& plan, std::string_view distributed_type);

/// What of numerics.weights, numerics.rounding and optimizer.state_dtype the files cannot express.
void note_recipe(const Plan& plan, bool deepspeed, Notes& notes);

/// What the script or each node sets, and what neither can express.
void note_script(const Plan& plan, const Unsaid& unsaid, Notes& notes);

}  // namespace plimsoll::exports::accelerate
