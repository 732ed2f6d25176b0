// SPDX-License-Identifier: Apache-2.0
#include "core/telemetry/contract/own_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "core/base/file.h"
#include "core/base/write_error.h"

namespace plimsoll {

namespace fs = std::filesystem;

namespace {

constexpr const char* cure = "a run folder holds plain files of its own: put a copy in its place, or start a new run";

Result<void> check_entry(const fs::path& path) {
    struct stat found {};
    const int missed = ::lstat(path.c_str(), &found) == 0 ? 0 : errno;
    if (missed == ENOENT) return {};  // other ranks of the run write, and rename what they wrote
    if (missed != 0) return bad_input("cannot read {}: {}", path.string(), errno_text(missed));
    if (S_ISLNK(found.st_mode)) return bad_input("{} is a symbolic link; {}", path.string(), cure);
    if (!S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode))
        return bad_input("{} is neither a file nor a folder; {}", path.string(), cure);
    if (S_ISREG(found.st_mode) && found.st_nlink > 1)
        return bad_input("{} has a second name elsewhere (a hard link); {}", path.string(), cure);
    if (found.st_uid != ::geteuid())
        return bad_input("{} belongs to another user (number {}); copy the run, and resume the copy", path.string(),
                         found.st_uid);
    if ((found.st_mode & S_IWOTH) != 0)
        return bad_input("every user of this machine can write {}; take that right away first (chmod -R o-w)",
                         path.string());
    return {};
}

}  // namespace

Result<void> check_own_files(const RunLayout& run) {
    std::error_code error;
    const fs::path root = fs::canonical(run.run(), error);
    if (error) return bad_input("cannot read {}: {}", run.run().string(), error.message());
    PLIMSOLL_CHECK(check_entry(root));
    // A folder that another rank removes meanwhile (half a checkpoint) ends the walk, which then begins again.
    for (int walk = 0; walk < 5; ++walk) {
        // Links are told, not followed.
        auto entry = fs::recursive_directory_iterator(run.run(), fs::directory_options::none, error);
        for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
            PLIMSOLL_CHECK(check_entry(entry->path()));
        }
        if (error != std::errc::no_such_file_or_directory) break;
    }
    if (error) return bad_input("cannot read {}: {}", run.run().string(), error.message());
    return {};
}

Result<Fd> open_own(const fs::path& file, int flags) {
    // O_NONBLOCK: a pipe must not hang the run; it is refused just below.
    Fd fd(::open(file.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
    if (fd.get() < 0 && errno == ELOOP) return bad_input("{} is a symbolic link; {}", file.string(), cure);
    if (fd.get() < 0) return bad_input("{}", write_error(file, errno));
    struct stat found {};
    if (::fstat(fd.get(), &found) != 0) return bad_input("cannot write {}: {}", file.string(), errno_text(errno));
    if (!S_ISREG(found.st_mode)) return bad_input("cannot write {}: it is not a regular file; {}", file.string(), cure);
    if (found.st_nlink > 1) return bad_input("{} has a second name elsewhere (a hard link); {}", file.string(), cure);
    return fd;
}

}  // namespace plimsoll
