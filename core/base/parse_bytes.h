// SPDX-License-Identifier: Apache-2.0
// Sizes that a person writes.
#pragma once

#include <optional>
#include <string_view>

#include "core/base/units.h"

namespace plimsoll {

/// "5GB", "1.5 GiB", "300 MB", "4096": a number above 0 followed by B, kB to TB (powers of 1000), KiB to TiB (of 1024)
/// or no unit; nothing for any other text, and for more than int64 holds.
std::optional<Bytes> parse_bytes(std::string_view text);

}  // namespace plimsoll
