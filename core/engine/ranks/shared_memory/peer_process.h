// SPDX-License-Identifier: Apache-2.0
// The processes of other ranks on this machine: where they run, and whether they still do.
#pragma once

#include <sys/types.h>

#include <string>

#include "core/base/result.h"
#include "core/engine/base/without_exceptions.h"

namespace plimsoll::engine {

/// Distinguishes this machine from others, and this boot and PID namespace from others of the machine: processes with
/// the same identity can name each other by pid.
std::string host_identity();

/// A process by its pidfd (pidfd_open(2)). A pidfd is never reused, unlike a pid, and reports the end before the parent
/// has waited for the process.
class PeerProcess {
public:
    static Result<PeerProcess> open(pid_t pid);
    bool ended() const;

private:
    explicit PeerProcess(Fd handle) : handle_(std::move(handle)) {}
    Fd handle_;
};

}  // namespace plimsoll::engine
