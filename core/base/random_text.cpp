// SPDX-License-Identifier: Apache-2.0
#include "core/base/random_text.h"

#include <sys/random.h>

#include <cerrno>
#include <vector>

#include "core/base/file.h"

namespace plimsoll {

Result<std::string> random_text(std::size_t bytes) {
    std::vector<unsigned char> random(bytes);
    // Up to 256 bytes come whole.
    if (::getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size()))
        return failed("the system gives no random numbers: {}", errno_text(errno));
    std::string text;
    for (const unsigned char byte : random) text += fmt::format("{:02x}", byte);
    return text;
}

}  // namespace plimsoll
