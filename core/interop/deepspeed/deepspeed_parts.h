// SPDX-License-Identifier: Apache-2.0
// The blocks of DeepSpeed's file. Each function adds its notes to `notes`. For core/interop/deepspeed*.cpp only.
#pragma once

#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/interop/deepspeed/facts/deepspeed_release.h"
#include "core/plan/plan.h"

namespace plimsoll::deepspeed {

using Notes = std::vector<std::string>;

/// ZeRO stage that is exported: half precision at stage 0 does not work in DeepSpeed, so it becomes stage 1.
std::int64_t exported_stage(const Plan& plan);

/// Adds "optimizer" where DeepSpeed has the plan's optimizer, and the keys with which ZeRO accepts it; otherwise a note
/// says what to do.
void add_optimizer(Json& json, const Plan& plan, Notes& notes);

/// "scheduler"
Json scheduler(const Plan& plan, const DeepSpeedRelease& release, Notes& notes);

/// "zero_optimization"
Json zero_optimization(const Plan& plan, Notes& notes);

/// Adds "fp16", "bf16", "communication_data_type" and "data_types".
void add_precision(Json& json, const Plan& plan, const DeepSpeedRelease& release, Notes& notes);

/// Adds "tensor_parallel" and "expert_parallel" where the release supports them; the other axes become notes.
void add_parallelism(Json& json, const Plan& plan, const DeepSpeedRelease& release, Notes& notes);

/// Notes on settings without a key in the file: activations, the loss, the split, routing, start weights.
void note_unsaid(const Plan& plan, Notes& notes);

/// A note for each key with which the plan's release refuses the file.
void note_refused(const Json& json, const Plan& plan, Notes& notes);

}  // namespace plimsoll::deepspeed
