// SPDX-License-Identifier: Apache-2.0
// JSON whose keys keep their order, with errors that say where.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace plimsoll {

using Json = nlohmann::ordered_json;

/// Strict JSON, no duplicate keys, nesting of 100 at most. `what` names the source in errors ("plan.json"):
/// "plan.json, line 3, column 14: expected ',' or '}'".
Result<Json> parse_json(std::string_view text, const std::string& what);

/// parse_json of a file's contents.
Result<Json> read_json(const std::filesystem::path& path);

/// Atomic, indented by two spaces, with a final newline.
Result<void> write_json(const std::filesystem::path& path, const Json& json);

/// How a value is shown in an error: its JSON text, cut at 40 characters.
std::string shown(const Json& value);

}  // namespace plimsoll
