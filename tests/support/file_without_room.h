// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>

namespace plimsoll {

/// Makes a plain file to which nothing can be appended: it ends where its file system's largest file ends (EFBIG). It
/// holds no block, and stands for a log on a disk that is full, without the rights that filling one would take.
inline void make_file_without_room(const std::filesystem::path& path) {
    { const std::ofstream make(path); }
    // The largest size is found digit by digit.
    off_t size = 0;
    for (int bit = std::numeric_limits<off_t>::digits - 1; bit >= 0; --bit) {
        const off_t larger = size | (off_t{1} << bit);
        if (::truncate(path.c_str(), larger) == 0) size = larger;
    }
    ASSERT_GT(size, off_t{1} << 30);
}

}  // namespace plimsoll
