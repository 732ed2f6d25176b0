// SPDX-License-Identifier: Apache-2.0
// Memory that several processes of one machine map.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>

#include "core/base/result.h"
#include "core/engine/base/without_exceptions.h"

namespace plimsoll::engine {

/// An anonymous file (memfd_create(2)): it has no name in any folder, so whatever dies leaves nothing behind. It starts
/// as zeros, and a page takes memory once it is written.
class SharedMemory {
public:
    static Result<SharedMemory> create(std::size_t bytes);
    /// Maps what the process `creator` of this user has created, by its address(). Nothing else is opened: no file of a
    /// folder, no memory of another user or process.
    static Result<SharedMemory> open(const std::string& address, pid_t creator, std::size_t bytes);
    ~SharedMemory();
    SharedMemory(SharedMemory&& other) noexcept;
    SharedMemory& operator=(SharedMemory&&) = delete;

    std::byte* data() const { return data_; }
    /// A path under /proc, valid until close_address() in the process that created it.
    std::string address() const;
    /// After this call no other process can map the memory; the mappings stay.
    void close_address() { file_.close(); }

private:
    SharedMemory(Fd file, std::byte* data, std::size_t bytes) : file_(std::move(file)), data_(data), bytes_(bytes) {}
    static Result<SharedMemory> map(Fd file, std::size_t bytes);

    Fd file_;
    std::byte* data_;
    std::size_t bytes_;
};

}  // namespace plimsoll::engine
