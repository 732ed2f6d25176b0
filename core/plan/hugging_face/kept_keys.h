// SPDX-License-Identifier: Apache-2.0
// The keys of others' files that a plan has no field for: kept in the plan's document under "hugging_face", and written
// back by an export.
#pragma once

#include <filesystem>

#include "core/base/json.h"
#include "core/plan/hugging_face/file_keys.h"
#include "core/plan/plan.h"

namespace plimsoll {

/// Keeps what config_keys.h lets be kept, in place of what was kept before. A value that the class of the family takes
/// for a missing key, and that is not computed here, is kept as if the file had it.
void keep_config_keys(Plan& plan, const Json& config);
/// The same of a PEFT adapter_config.json.
void keep_adapter_keys(Plan& plan, const Json& config);
/// Both of the folders that the plan starts from (model.weights, adapter.weights), where they have such files. What
/// cannot be read is left to the reader of the weights. `config`: that of the weights; empty: there is none.
void keep_keys_of_weights(Plan& plan, const std::filesystem::path& config);

/// What a config.json of the plan's model takes over from what was kept: all but keys that make another model than the
/// one that the plan trains. Nothing where the plan's model is of another family or another preset by now.
Json exported_config_keys(const Plan& plan);
Json exported_adapter_keys(const Plan& plan);

/// What the kept keys ask for, at the plan's sequence length, that the plan's training does not do.
KeyFindings kept_findings(const Plan& plan);

}  // namespace plimsoll
