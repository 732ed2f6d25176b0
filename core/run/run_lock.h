// SPDX-License-Identifier: Apache-2.0
// The lock of a run folder: held by its supervisor, asked by everyone else.
#pragma once

#include <filesystem>
#include <utility>

#include "core/base/result.h"

namespace plimsoll {

class RunLock {
public:
    static constexpr bool must_be_kept = true;  ///< PLIMSOLL_CHECK would give it back at once
    /// Error (BadInput) when another process holds the lock.
    static Result<RunLock> take(const std::filesystem::path& lock_file);
    /// Only asks for the state, and never keeps a supervisor from taking the lock.
    static bool held(const std::filesystem::path& lock_file);

    RunLock(RunLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    RunLock& operator=(RunLock&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~RunLock();

private:
    explicit RunLock(int fd) : fd_(fd) {}
    int fd_ = -1;
};

}  // namespace plimsoll
