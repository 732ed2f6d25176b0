// SPDX-License-Identifier: Apache-2.0
// Text from a model, to see what it learned.
#pragma once

#include <torch/torch.h>

#include <functional>
#include <string>
#include <string_view>

namespace plimsoll::engine {

/// tokens [1, time] -> logits [vocab] after the last token; an undefined tensor ends the text.
using NextLogits = std::function<torch::Tensor(const torch::Tensor& tokens)>;

/// Continues `prompt` by `length` byte tokens at the given temperature (0: the likeliest); deterministic under `seed`,
/// and no random number is taken from torch's default generator. Returns the prompt and its continuation. The context
/// is cut to the last `max_context` tokens. An empty prompt continues a line break that is not shown. Of a larger
/// vocabulary only the 256 bytes are drawn. Bytes that are not valid UTF-8 come out as U+FFFD. Where the model gives no
/// finite number any more, and once `stop` is set, the text ends early: between two tokens. All ranks of a distributed
/// model have to make the same call.
std::string generate(const NextLogits& logits, std::int64_t vocab_size, const std::string& prompt, std::int64_t length,
                     double temperature, std::uint64_t seed, std::int64_t max_context,
                     const std::function<bool()>& stop = {});

/// The bytes as UTF-8: each longest wrong start of a character becomes one U+FFFD (Unicode 15, section 3.9).
std::string repaired_utf8(std::string_view bytes);

}  // namespace plimsoll::engine
