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
    std::vector<std::string> notes;  ///< where the plan differs from the file, and why
};

/// `base` supplies the settings without a key in the file: model, hardware, data, pipeline and context parallelism.
/// Keys without a field in the plan are kept under "deepspeed" in the plan's document, and export_deepspeed writes them
/// again. Error where a value is of a wrong type or out of range, or where the plan would not be possible.
Result<DeepSpeedImport> import_deepspeed(const Json& file, const Plan& base, const std::string& what);

namespace deepspeed {
/// Writes the keys that an import kept (plan.source's "deepspeed") over the export.
void add_kept(Json& json, const Plan& plan);
}  // namespace deepspeed

}  // namespace plimsoll
