// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/checkpoint_config.h"

#include <system_error>
#include <vector>

#include "core/checkpoint/stored_checkpoint.h"

namespace plimsoll {

namespace fs = std::filesystem;

fs::path checkpoint_config(const fs::path& named) {
    std::error_code error;
    std::vector<fs::path> places{named};
    if (!fs::is_directory(named, error)) places.push_back(named.parent_path());
    if (const auto found = find_checkpoint(named)) {
        places.push_back(found->path);
        places.push_back(found->path.parent_path());
    }
    for (const fs::path& place : places) {
        for (const char* name : {"config.json", "params.json"}) {
            if (fs::is_regular_file(place / name, error)) return place / name;
        }
    }
    return {};
}

}  // namespace plimsoll
