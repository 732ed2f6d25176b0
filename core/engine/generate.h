// SPDX-License-Identifier: Apache-2.0
// Text from a model, to see what it learned.
#pragma once

#include <string>

#include "core/engine/decoder.h"

namespace plimsoll::engine {

/// Continues `prompt` by `length` byte tokens at the given temperature (0: the likeliest); deterministic under `seed`.
/// The context is cut to `max_context` tokens. Bytes that are not valid UTF-8 come out as U+FFFD.
std::string generate(Decoder& model, const std::string& prompt, std::int64_t length, double temperature,
                     std::uint64_t seed, std::int64_t max_context);

}  // namespace plimsoll::engine
