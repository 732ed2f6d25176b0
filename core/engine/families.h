// SPDX-License-Identifier: Apache-2.0
// The decoders behind make_decoder(), with weights not yet set.
#pragma once

#include "core/engine/decoder.h"

namespace plimsoll::engine {

/// GPT2LMHeadModel: LayerNorm, learned positions, GELU or ReLU, biases everywhere.
std::shared_ptr<Decoder> make_gpt2(const Plan& plan);
/// LlamaForCausalLM, MistralForCausalLM, Qwen2ForCausalLM: RMSNorm, rotary positions, SwiGLU, grouped-query attention.
std::shared_ptr<Decoder> make_llama(const Plan& plan);

}  // namespace plimsoll::engine
