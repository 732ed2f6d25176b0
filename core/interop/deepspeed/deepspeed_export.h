// SPDX-License-Identifier: Apache-2.0
// Export of a plan as a DeepSpeed JSON config.
#pragma once

#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/plan/plan.h"

namespace plimsoll {

struct DeepSpeedExport {
    Json json;                       ///< strict JSON, accepted by DeepSpeed's own parser
    std::vector<std::string> notes;  ///< settings that DeepSpeed's file cannot express, and where to make them
};

/// The config for the release plan.exports.deepspeed_release. Error when the release is not known or the plan is not
/// possible (check_plan). Every default that differs between releases is written out, so that the file means the same
/// in all of them.
Result<DeepSpeedExport> export_deepspeed(const Plan& plan);

}  // namespace plimsoll
