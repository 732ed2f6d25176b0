// SPDX-License-Identifier: Apache-2.0
// --gpu and --gpus: a plan on other hardware than its own.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/plan/plan.h"

namespace plimsoll::cli {

/// The plan on the GPU of the catalogue that is called `gpu` ("cpu": on this machine; "": its own), and on `gpus` GPUs
/// in all, whose data-parallel ranks follow; the global batch stays, unless one of the `settings` ("KEY=VALUE") decides
/// it. What else had to change is said on standard error.
Result<Plan> on_hardware(Plan plan, const std::string& gpu, const std::optional<std::int64_t>& gpus = {},
                         const std::vector<std::string>& settings = {});

}  // namespace plimsoll::cli
