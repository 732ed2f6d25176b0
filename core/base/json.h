// SPDX-License-Identifier: Apache-2.0
// JSON whose keys keep their order, with errors that say where.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/base/json_fwd.h"
#include "core/base/result.h"
#include "core/base/units.h"

namespace plimsoll {

/// Strict JSON, no duplicate keys, nesting of 100 and 2 million keys at most, in time that grows with the text. `what`
/// names the source in errors ("plan.json"): "plan.json, line 3, column 14: expected ',' or '}'". Looking a key up in an
/// object takes time in proportion to its keys: large objects are walked through.
Result<Json> parse_json(std::string_view text, const std::string& what);

/// parse_json of a file's contents; a file over `limit` is refused.
Result<Json> read_json(const std::filesystem::path& path, Bytes limit = 64 * MiB);

/// Atomic, indented by two spaces, with a final newline.
Result<void> write_json(const std::filesystem::path& path, const Json& json);

/// How a value is shown in an error: its JSON text, cut at 40 characters.
std::string shown(const Json& value);

/// Whether the bytes are UTF-8, which all text in JSON has to be.
bool valid_utf8(std::string_view text);

}  // namespace plimsoll
