// SPDX-License-Identifier: Apache-2.0
#include "core/base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include "core/base/beside.h"
#include "core/base/fd.h"
#include "core/base/write_error.h"

namespace plimsoll {

namespace fs = std::filesystem;

std::string errno_text(int error) { return std::generic_category().message(error); }

namespace {

/// A regular file that is open for reading.
struct OpenFile {
    Fd fd;
    Bytes size = 0;
};

Result<OpenFile> open_regular(const fs::path& path) {
    // O_NONBLOCK: opening a FIFO must not hang; it is refused just below.
    OpenFile file{Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK))};
    if (file.fd.get() < 0) return bad_input("cannot read {}: {}", path.string(), errno_text(errno));
    struct stat info {};
    if (::fstat(file.fd.get(), &info) != 0) return bad_input("cannot read {}: {}", path.string(), errno_text(errno));
    if (S_ISDIR(info.st_mode)) return bad_input("cannot read {}: it is a folder, a file is needed", path.string());
    if (!S_ISREG(info.st_mode)) return bad_input("cannot read {}: it is not a regular file", path.string());
    file.size = info.st_size;
    return file;
}

/// The next `most` bytes, or those up to the end.
Result<std::string> read_bytes(const OpenFile& file, Bytes most, const fs::path& path) {
    std::string contents(static_cast<std::size_t>(most), '\0');
    std::size_t done = 0;
    while (done < contents.size()) {
        const ssize_t n = ::read(file.fd.get(), contents.data() + done, contents.size() - done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return bad_input("cannot read {}: {}", path.string(), errno_text(errno));
        if (n == 0) break;
        done += static_cast<std::size_t>(n);
    }
    contents.resize(done);
    return contents;
}

}  // namespace

Result<std::string> read_file(const fs::path& path, Bytes limit) {
    PLIMSOLL_TRY(const OpenFile file, open_regular(path));
    if (file.size > limit) {
        return bad_input("{} holds {}, more than the {} that such a file may have", path.string(),
                         format_bytes(file.size), format_bytes(limit));
    }
    return read_bytes(file, file.size, path);
}

Result<FileBeginning> read_beginning(const fs::path& path, Bytes most) {
    PLIMSOLL_TRY(const OpenFile file, open_regular(path));
    PLIMSOLL_TRY(std::string text, read_bytes(file, std::min(file.size, most), path));
    return FileBeginning{std::move(text), file.size};
}

Result<void> write_file_atomic(const fs::path& path, std::string_view contents) {
    // A link keeps pointing where it points: its target is what is replaced.
    std::error_code no_link;
    const fs::path target = fs::is_symlink(path, no_link) ? fs::weakly_canonical(path, no_link) : path;
    struct stat old {};
    const bool replaces = ::stat(target.c_str(), &old) == 0;
    // Renaming over /dev/null would put a plain file in its place.
    if (replaces && !S_ISREG(old.st_mode)) {
        return bad_input("cannot write {}: it is {}; give the name of a file", path.string(),
                         S_ISDIR(old.st_mode) ? "a folder" : "not a regular file");
    }
    PLIMSOLL_TRY(auto made, make_beside(target));
    Fd& fd = made.fd;
    const fs::path& beside = made.path;
    const auto fail = [&](int error) {
        ::unlink(beside.c_str());
        return bad_input("{}", write_error(path, error));
    };
    if (replaces && ::fchmod(fd.get(), old.st_mode & 07777U) != 0) return fail(errno);
    std::size_t done = 0;
    while (done < contents.size()) {
        const ssize_t n = ::write(fd.get(), contents.data() + done, contents.size() - done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return fail(errno);
        done += static_cast<std::size_t>(n);
    }
    if (::fsync(fd.get()) != 0) return fail(errno);
    if (fd.close() != 0) return fail(errno);
    if (::rename(beside.c_str(), target.c_str()) != 0) return fail(errno);
    return {};
}

}  // namespace plimsoll
