// SPDX-License-Identifier: Apache-2.0
#include "core/engine/ranks/run_secret.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <thread>

#include "core/base/beside.h"
#include "core/base/fd.h"
#include "core/base/file.h"
#include "core/base/random_text.h"

namespace plimsoll::engine {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t secret_bytes = 32;

/// What the file holds; nothing while it is not there or not whole.
Result<std::optional<std::string>> kept_secret(const fs::path& file) {
    const Fd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (fd.get() < 0 && errno == ENOENT) return std::nullopt;
    if (fd.get() < 0) return bad_input("cannot read {}: {}", file.string(), errno_text(errno));
    struct stat found {};
    if (::fstat(fd.get(), &found) != 0) return bad_input("cannot read {}: {}", file.string(), errno_text(errno));
    if (!S_ISREG(found.st_mode) || found.st_uid != ::geteuid() || (found.st_mode & 077U) != 0) {
        return bad_input(
            "{} is not a file that you alone can read, so others may know the secret of the run; remove the file",
            file.string());
    }
    std::string text(2 * secret_bytes, '\0');
    const ssize_t got = ::read(fd.get(), text.data(), text.size());
    if (got != static_cast<ssize_t>(text.size())) return std::nullopt;
    return text;
}

/// Made under another name, so that no rank reads half a secret.
Result<void> make_secret(const fs::path& file) {
    PLIMSOLL_TRY(const std::string text, random_text(secret_bytes));
    PLIMSOLL_TRY(auto made, make_beside(file, 0600));
    Fd& fd = made.fd;
    const auto fail = [&](int error) {
        ::unlink(made.path.c_str());
        return bad_input("cannot write {}: {}", file.string(), errno_text(error));
    };
    if (::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) return fail(errno);
    if (fd.close() != 0) return fail(errno);
    // Another attempt's rank 0 may have been quicker: its secret stays.
    int failure = ::renameat2(AT_FDCWD, made.path.c_str(), AT_FDCWD, file.c_str(), RENAME_NOREPLACE) == 0 ? 0 : errno;
    // File systems without the flag (NFS).
    if (failure == EINVAL) failure = ::link(made.path.c_str(), file.c_str()) == 0 ? EEXIST : errno;
    if (failure != 0 && failure != EEXIST) return fail(failure);
    if (failure == EEXIST) ::unlink(made.path.c_str());
    return {};
}

}  // namespace

Result<std::string> run_secret(const fs::path& file, int rank, Seconds timeout) {
    if (const char* given = std::getenv(secret_variable); given != nullptr && *given != '\0') return given;
    const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(timeout);
    while (true) {
        PLIMSOLL_TRY(const auto kept, kept_secret(file));
        if (kept) return *kept;
        if (rank == 0) {
            PLIMSOLL_CHECK(make_secret(file));
            continue;
        }
        if (std::chrono::steady_clock::now() > until) {
            return bad_input(
                "rank 0 made no {} within {}: where the machines share no run folder, set {} to the same random text for "
                "all ranks",
                file.string(), format_seconds(timeout), secret_variable);
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
}

}  // namespace plimsoll::engine
