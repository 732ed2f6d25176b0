// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "core/base/result.h"

namespace plimsoll {

/// Random bytes of the system (getrandom) as hexadecimal digits, two a byte: for secrets, and for names that nobody can
/// guess. At most 256 bytes.
Result<std::string> random_text(std::size_t bytes);

}  // namespace plimsoll
