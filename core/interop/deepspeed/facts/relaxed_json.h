// SPDX-License-Identifier: Apache-2.0
// The part of hjson that people use in DeepSpeed's files: comments and trailing commas.
#pragma once

#include <string>
#include <string_view>

namespace plimsoll {

/// The text with comments (//, #, /* */) and commas before a closing bracket made spaces, so that lines and columns
/// stay.
std::string without_comments(std::string_view text);

}  // namespace plimsoll
