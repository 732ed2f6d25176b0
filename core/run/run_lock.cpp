// SPDX-License-Identifier: Apache-2.0
#include "core/run/run_lock.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "core/base/file.h"
#include "core/base/write_error.h"
#include "core/telemetry/contract/own_files.h"

namespace plimsoll {

// Open-file-description locks rather than flock(2): they can be asked for without being taken, even for a moment, and
// unlike plain fcntl locks they belong to the open file, not to the process.

Result<RunLock> RunLock::take(const std::filesystem::path& lock_file) {
    PLIMSOLL_TRY(auto opened, open_own(lock_file, O_RDWR | O_CREAT));
    RunLock lock(opened.release());
    struct flock whole {};
    whole.l_type = F_WRLCK;
    whole.l_whence = SEEK_SET;
    if (::fcntl(lock.fd_, F_OFD_SETLK, &whole) == 0) return lock;
    if (errno == EAGAIN || errno == EACCES) {
        const std::string run = lock_file.parent_path().string();
        return bad_input(
            "the run folder {} is in use by a live run: stop it first (plimsoll stop {}), or choose another folder",
            run, run);
    }
    return bad_input("cannot lock {}: {}", lock_file.string(), errno_text(errno));
}

bool RunLock::held(const std::filesystem::path& lock_file) {
    const RunLock lock(::open(lock_file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (lock.fd_ < 0) return false;
    struct flock whole {};
    whole.l_type = F_WRLCK;
    whole.l_whence = SEEK_SET;
    return ::fcntl(lock.fd_, F_OFD_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
}

RunLock::~RunLock() {
    if (fd_ >= 0) ::close(fd_);
}

}  // namespace plimsoll
