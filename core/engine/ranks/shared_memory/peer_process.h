// SPDX-License-Identifier: Apache-2.0
// The processes of other ranks on this machine: where they run, and whether they still do.
#pragma once

#include <sys/types.h>

#include <string>

#include "core/base/result.h"
#include "core/engine/base/without_exceptions.h"

namespace plimsoll::engine {

/// Tells this machine from others and this boot and PID namespace from others of it: processes with the same identity
/// can name each other by pid.
std::string host_identity();

/// A process by its pidfd (pidfd_open(2)): unlike a pid it is never reused, and it tells of an end before the parent
/// has waited for it.
class PeerProcess {
public:
    static Result<PeerProcess> open(pid_t pid);
    bool ended() const;

private:
    explicit PeerProcess(Fd handle) : handle_(std::move(handle)) {}
    Fd handle_;
};

}  // namespace plimsoll::engine
