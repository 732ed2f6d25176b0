// SPDX-License-Identifier: Apache-2.0
#include "core/run/folder_bytes.h"

#include <system_error>

namespace plimsoll {

namespace fs = std::filesystem;

Bytes folder_bytes(const fs::path& folder) {
    Bytes bytes = 0;
    std::error_code error;
    for (auto file = fs::recursive_directory_iterator(folder, error);
         !error && file != fs::recursive_directory_iterator(); file.increment(error)) {
        std::error_code ignored;
        if (file->is_regular_file(ignored)) bytes += static_cast<Bytes>(file->file_size(ignored));
    }
    return bytes;
}

}  // namespace plimsoll
