// SPDX-License-Identifier: Apache-2.0
// hjson, which DeepSpeed reads its files as (runtime/config.py: hjson.load): comments, trailing or missing commas,
// names and texts without quotes, an object without its braces.
#pragma once

#include <string>
#include <string_view>

#include "core/base/json_fwd.h"
#include "core/base/result.h"

namespace plimsoll {

/// The text as strict JSON, every line where it was. A text that is no hjson comes back as it is.
std::string as_strict_json(std::string_view text);

struct RelaxedJson {
    Json json;
    std::string not_strict;  ///< why a strict reader refuses the text; empty: it does not
};
/// The document of a text in hjson. The error is the strict reader's, with line and column.
Result<RelaxedJson> parse_relaxed_json(std::string_view text, const std::string& what);

}  // namespace plimsoll
