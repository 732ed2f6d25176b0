// SPDX-License-Identifier: Apache-2.0
// How the steps of a tokenizer.json are read.
#pragma once

#include <string>

#include "core/base/json_fwd.h"
#include "core/base/result.h"
#include "core/tokenizer/pattern.h"

namespace plimsoll {

/// Its "type", or "" where it has none.
std::string type_of(const Json& step);
/// The text, flag or list under `key`; `missing` where the key is absent or null or holds something else.
std::string text_at(const Json& step, const char* key, const std::string& missing = "");
bool flag_at(const Json& step, const char* key, bool missing);
const Json& list_at(const Json& step, const char* key);
/// {"Regex": "…"} or {"String": "…"}.
Result<Pattern> pattern_at(const Json& step, const char* key);

}  // namespace plimsoll
