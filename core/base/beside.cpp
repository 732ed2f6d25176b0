// SPDX-License-Identifier: Apache-2.0
#include "core/base/beside.h"

#include <fcntl.h>

#include <cerrno>

#include "core/base/random_text.h"
#include "core/base/write_error.h"

namespace plimsoll {

Result<Beside> make_beside(const std::filesystem::path& target, mode_t mode) {
    PLIMSOLL_TRY(const std::string name, random_text(8));
    std::filesystem::path path = target.string() + fmt::format(".{}.tmp", name);
    Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode));
    if (fd.get() < 0) return bad_input("{}", write_error(target, errno));
    return Beside{std::move(fd), std::move(path)};
}

}  // namespace plimsoll
