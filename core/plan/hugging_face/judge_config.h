// SPDX-License-Identifier: Apache-2.0
// What the keys of a config.json ask for beside what the model that was read from it says.
#pragma once

#include <string>

#include "core/base/json.h"
#include "core/plan/hugging_face/file_keys.h"
#include "core/plan/model.h"

namespace plimsoll {

/// What the file's keys ask for beside what `model`, which was read from the file, says. A key that is not in
/// config_keys() is told by name.
KeyFindings judge_config(const Json& config, const Model& model);

/// "default", "linear", "dynamic", "llama3", …: how the file scales rotary positions. Its object lies in rope_scaling
/// (transformers 4) or rope_parameters (5); the first wins, as in transformers.
std::string rope_type(const Json& config);

}  // namespace plimsoll
