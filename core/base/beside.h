// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <filesystem>

#include "core/base/fd.h"
#include "core/base/result.h"

namespace plimsoll {

/// A new file that will replace another one.
struct Beside {
    Fd fd;
    std::filesystem::path path;
};

/// Makes "TARGET.RANDOM.tmp", open for writing. Nobody can have made the file before: its name is not known, and one that
/// is there is an error, whatever it is.
Result<Beside> make_beside(const std::filesystem::path& target, mode_t mode = 0644);

}  // namespace plimsoll
