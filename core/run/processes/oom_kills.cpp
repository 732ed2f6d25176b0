// SPDX-License-Identifier: Apache-2.0
#include "core/run/processes/oom_kills.h"

#include <fstream>
#include <string>

namespace plimsoll {

std::optional<std::uint64_t> oom_kills(const std::filesystem::path& vmstat) {
    std::ifstream in(vmstat);
    std::string name;
    std::uint64_t count = 0;
    while (in >> name >> count)
        if (name == "oom_kill") return count;
    return std::nullopt;
}

}  // namespace plimsoll
