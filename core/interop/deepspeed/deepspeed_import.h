// SPDX-License-Identifier: Apache-2.0
// A DeepSpeed config as a plan.
#pragma once

#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/plan/plan.h"

namespace plimsoll {

struct DeepSpeedImport {
    Plan plan;
    std::vector<std::string> notes;  ///< what the plan says otherwise, and why
};

/// `base` gives what the file has no keys for: the model, the hardware, the data, pipeline and context parallelism.
/// What the plan has no fields for is kept under "deepspeed" in the plan's document, and export_deepspeed writes it
/// again. Error where a value is of a wrong type or out of range, or where the plan would not be possible.
Result<DeepSpeedImport> import_deepspeed(const Json& file, const Plan& base, const std::string& what);

namespace deepspeed {
/// Writes what an import kept (plan.source's "deepspeed") over the export.
void add_kept(Json& json, const Plan& plan);
}  // namespace deepspeed

}  // namespace plimsoll
