// SPDX-License-Identifier: Apache-2.0
#include "core/engine/optimizer/async_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace plimsoll::engine {

namespace fs = std::filesystem;

namespace {

Fd open_nameless(const fs::path& folder) {
    const int fd = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return Fd(fd);
    // Some network and overlay file systems have no files without a name.
    std::string name = folder / "plimsoll-states-XXXXXX";
    Fd file(::mkostemp(name.data(), O_CLOEXEC));
    if (file.get() >= 0) ::unlink(name.c_str());
    return file;
}

ssize_t write_at(int fd, void* bytes, size_t size, off_t offset) { return ::pwrite(fd, bytes, size, offset); }

}  // namespace

Result<std::unique_ptr<AsyncFile>> AsyncFile::create(const fs::path& folder, std::string what) {
    std::error_code error;
    if (!fs::is_directory(folder, error)) {
        return bad_input("layout.nvme_path \"{}\" is not a folder; make it, or name another one on a fast drive",
                         folder.string());
    }
    Fd file = open_nameless(folder);
    if (file.get() < 0) {
        return bad_input("no file can be made in layout.nvme_path \"{}\": {}", folder.string(), errno_text(errno));
    }
    return std::unique_ptr<AsyncFile>(new AsyncFile(std::move(file), folder, std::move(what)));
}

Result<std::uint64_t> AsyncFile::reserve(Bytes size) {
    const std::uint64_t offset = size_;
    if (size == 0) return offset;
    const int error = ::posix_fallocate(file_.get(), static_cast<off_t>(offset), static_cast<off_t>(size));
    if (error != 0) {
        return failed(
            "{} do not fit on the drive of layout.nvme_path \"{}\": {} are there and {} more are needed ({}); free some "
            "room or name a folder on another drive",
            what_, folder_.string(), format_bytes(static_cast<Bytes>(offset)), format_bytes(size), errno_text(error));
    }
    size_ += static_cast<std::uint64_t>(size);
    return offset;
}

void AsyncFile::transfer(const char* what, ssize_t (*move)(int, void*, size_t, off_t), void* bytes, Bytes size,
                         std::uint64_t offset) {
    auto* at = static_cast<char*>(bytes);
    while (size > 0 && !failed_) {
        const ssize_t moved = move(file_.get(), at, static_cast<std::size_t>(size), static_cast<off_t>(offset));
        if (moved < 0 && errno == EINTR) continue;
        if (moved <= 0) {
            failure_ = fmt::format("{} in layout.nvme_path \"{}\" cannot be {}: {}", what_, folder_.string(), what,
                                   moved == 0 ? "the file ends early" : errno_text(errno));
            failed_ = true;
            return;
        }
        at += moved;
        size -= moved;
        offset += static_cast<std::uint64_t>(moved);
    }
}

void AsyncFile::write(const void* bytes, Bytes size, std::uint64_t offset, std::function<void()> then) {
    last_ = queue_.add([this, bytes, size, offset, then = std::move(then)] {
        transfer("written", &write_at, const_cast<void*>(bytes), size, offset);
        then();
    });
}

std::uint64_t AsyncFile::read(void* bytes, Bytes size, std::uint64_t offset) {
    last_ = queue_.add([this, bytes, size, offset] { transfer("read", &::pread, bytes, size, offset); });
    return last_;
}

Result<void> AsyncFile::result() const {
    if (failed_) return failed("{}", failure_);
    return {};
}

Result<void> AsyncFile::wait_for(std::uint64_t number) {
    queue_.wait_for(number);
    return result();
}

Result<void> AsyncFile::finish() { return wait_for(last_); }

}  // namespace plimsoll::engine
