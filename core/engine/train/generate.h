// SPDX-License-Identifier: Apache-2.0
// Text from a model, to see what it learned.
#pragma once

#include <torch/torch.h>

#include <functional>
#include <string>

#include "core/engine/data/text_codec.h"

namespace plimsoll::engine {

/// tokens [1, time] -> logits [vocab] after the last token; an undefined tensor ends the text.
using NextLogits = std::function<torch::Tensor(const torch::Tensor& tokens)>;

/// Continues `prompt` by `length` tokens at the given temperature (0: the likeliest); deterministic under `seed`, and no
/// random number is taken from torch's default generator. Returns the prompt and its continuation as text. The context is
/// cut to the last `max_context` tokens. Of a larger vocabulary only tokens that have a text are drawn. Where the model
/// gives no finite number any more, and once `stop` is set, the text ends early: between two tokens. All ranks of a
/// distributed model have to make the same call.
std::string generate(const NextLogits& logits, const TextCodec& codec, const std::string& prompt, std::int64_t length,
                     double temperature, std::uint64_t seed, std::int64_t max_context,
                     const std::function<bool()>& stop = {});

}  // namespace plimsoll::engine
