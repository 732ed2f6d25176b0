// SPDX-License-Identifier: Apache-2.0
#include "core/base/file_io.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/base/beside.h"
#include "core/base/write_error.h"

namespace plimsoll {

namespace fs = std::filesystem;

namespace {

/// Linux moves 2 GiB at most in one call.
constexpr std::size_t max_io = 1 << 30;

tl::unexpected<Error> cannot_write(const fs::path& path, int error) {
    return bad_input("{}", write_error(path, error));
}

tl::unexpected<Error> cannot_read(const fs::path& path, int error) {
    return bad_input("cannot read {}: {}", path.string(), errno_text(error));
}

}  // namespace

Result<FileWriter> FileWriter::create(const fs::path& path) {
    std::error_code ignored;
    if (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored)) {
        return bad_input("cannot write {}: it is not a regular file; give the name of a file", path.string());
    }
    PLIMSOLL_TRY(auto made, make_beside(path));
    return FileWriter(path, std::move(made.path), std::move(made.fd));
}

FileWriter::FileWriter(FileWriter&& other) noexcept
    : path_(std::move(other.path_)), beside_(std::exchange(other.beside_, {})), file_(std::move(other.file_)) {}

FileWriter::~FileWriter() {
    if (!beside_.empty()) ::unlink(beside_.c_str());
}

Result<void> FileWriter::write(const void* bytes, std::size_t size) {
    const char* at = static_cast<const char*>(bytes);
    while (size > 0) {
        const ssize_t n = ::write(file_.get(), at, std::min(size, max_io));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return cannot_write(path_, errno);
        at += n;
        size -= static_cast<std::size_t>(n);
    }
    return {};
}

Result<void> FileWriter::finish() {
    if (::fsync(file_.get()) != 0) return cannot_write(path_, errno);
    if (file_.close() != 0) return cannot_write(path_, errno);
    if (::rename(beside_.c_str(), path_.c_str()) != 0) return cannot_write(path_, errno);
    beside_.clear();
    return sync_folder(path_.has_parent_path() ? path_.parent_path() : fs::path("."));
}

Result<FileReader> FileReader::open(const fs::path& path) {
    // O_NONBLOCK: opening a FIFO must not hang; it is refused just below.
    Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (file.get() < 0) return cannot_read(path, errno);
    struct stat info {};
    if (::fstat(file.get(), &info) != 0) return cannot_read(path, errno);
    if (!S_ISREG(info.st_mode)) return bad_input("cannot read {}: it is not a regular file", path.string());
    return FileReader(path, std::move(file), static_cast<std::uint64_t>(info.st_size));
}

Result<void> FileReader::read(void* bytes, std::size_t size, std::uint64_t offset) const {
    char* at = static_cast<char*>(bytes);
    while (size > 0) {
        const ssize_t n = ::pread(file_.get(), at, std::min(size, max_io), static_cast<off_t>(offset));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return cannot_read(path_, errno);
        if (n == 0) return bad_input("cannot read {}: it became shorter meanwhile", path_.string());
        at += n;
        size -= static_cast<std::size_t>(n);
        offset += static_cast<std::uint64_t>(n);
    }
    return {};
}

Result<void> sync_folder(const fs::path& folder) {
    const Fd handle(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (handle.get() < 0) return cannot_write(folder, errno);
    // Some file systems cannot sync a folder and say so; there is nothing to wait for then.
    if (::fsync(handle.get()) != 0 && errno != EINVAL) return cannot_write(folder, errno);
    return {};
}

}  // namespace plimsoll
