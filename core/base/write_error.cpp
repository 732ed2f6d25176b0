// SPDX-License-Identifier: Apache-2.0
#include "core/base/write_error.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <optional>
#include <system_error>

#include "core/base/file.h"

namespace plimsoll {

namespace fs = std::filesystem;

namespace {

std::optional<dev_t> device_of(const fs::path& path) {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) return std::nullopt;
    return info.st_dev;
}

/// Whether it is a device such as /dev/full, whose own room counts and not that of the disk that it lies on.
bool is_device(const fs::path& path) {
    struct stat info {};
    return ::stat(path.c_str(), &info) == 0 && (S_ISCHR(info.st_mode) || S_ISBLK(info.st_mode));
}

std::string cure(const fs::path& path, int error) {
    switch (error) {
        case ENOSPC:
            if (is_device(path)) return "no room is left there: choose another place";
            return fmt::format("the disk at {} is full: free some room there, or choose another place",
                               disk_of(path).string());
        case EDQUOT:
            return fmt::format("your quota on the disk at {} is used up: free some room there, or choose another place",
                               disk_of(path).string());
        case EFBIG:
            return "the file size limit is reached (of the shell: `ulimit -f`; or of the file system): raise it, or "
                   "choose another place";
        case EROFS:
            return fmt::format("the disk at {} cannot be written to: choose another place", disk_of(path).string());
        default:
            return "choose another place";
    }
}

}  // namespace

fs::path disk_of(const fs::path& path) {
    std::error_code ignored;
    fs::path at = fs::weakly_canonical(fs::absolute(path, ignored), ignored);
    if (at.empty()) at = fs::absolute(path, ignored);
    while (!device_of(at) && at.has_relative_path()) at = at.parent_path();
    const auto device = device_of(at);
    while (at.has_relative_path() && device_of(at.parent_path()) == device) at = at.parent_path();
    return at.empty() ? fs::path("/") : at;
}

std::string write_error(const fs::path& path, int error) {
    return fmt::format("cannot write {}: {}; {}", path.string(), errno_text(error), cure(path, error));
}

}  // namespace plimsoll
