// SPDX-License-Identifier: Apache-2.0
// The config.json with which transformers reads our checkpoints.
#pragma once

#include "core/base/json.h"
#include "core/plan/plan.h"

namespace plimsoll::engine {

/// For GPT2LMHeadModel, LlamaForCausalLM, MistralForCausalLM, MixtralForCausalLM or Qwen2ForCausalLM, readable by
/// transformers 4 and 5. model_from_hf_config() gives the model back, but for its name, where the family has no dropout
/// on embeddings and residuals (all but GPT-2) its dropout, and what transformers does not know: the capacity factor
/// and the z-loss of a router. Keys that came with the model (kept_keys.h) come back; without them there are no special
/// tokens, since tokens are bytes. A model that no class of transformers computes (norms elsewhere than before the
/// sublayers, or on q and k) has the model_type "plimsoll", with its family beside it.
Json hf_config(const Plan& plan);

}  // namespace plimsoll::engine
