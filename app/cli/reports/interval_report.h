// SPDX-License-Identifier: Apache-2.0
// The uncertainty of an estimate, as text and JSON.
#pragma once

#include <string>

#include "core/base/json.h"
#include "core/frameworks/error_model.h"

namespace plimsoll::cli {

/// "Of 100 measured peaks 95 lie between …": the fullest rank's interval, with the probability that the rank runs out
/// of memory.
std::string interval_report(Framework framework, const MemoryEstimate& memory, const Plan& plan);

/// Adds framework, and to each rank low_bytes, high_bytes and out_of_memory_probability, to the JSON of an estimate.
void add_intervals(Json& json, Framework framework, const MemoryEstimate& memory, const Plan& plan);

/// "0.3 %", "less than 0.1 %".
std::string probability_text(double probability);

}  // namespace plimsoll::cli
