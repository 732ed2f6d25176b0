// SPDX-License-Identifier: Apache-2.0
// A nameless file that is read and written beside the computation.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>

#include "core/base/result.h"
#include "core/base/units.h"
#include "core/engine/base/call_queue.h"
#include "core/engine/base/without_exceptions.h"

namespace plimsoll::engine {

/// Reads and writes run on a thread of their own, one after the other, in the order in which they were begun: a read
/// sees every earlier write. The first error stays, and later transfers do nothing.
class AsyncFile {
public:
    /// A file in `folder` without a name (O_TMPFILE, or unlinked at once): whatever ends the process, nothing remains.
    /// The error names the folder and what is wrong with it, later ones also `what` the file holds.
    static Result<std::unique_ptr<AsyncFile>> create(const std::filesystem::path& folder,
                                                     std::string what = "the optimizer's states");

    /// Makes the file `size` bytes longer and takes the room on the drive. Returns the offset of the new bytes.
    Result<std::uint64_t> reserve(Bytes size);
    /// `then` is called on the file's thread when the bytes are no longer used; it may own them.
    void write(const void* bytes, Bytes size, std::uint64_t offset, std::function<void()> then);
    /// A number to wait for.
    std::uint64_t read(void* bytes, Bytes size, std::uint64_t offset);
    Result<void> wait_for(std::uint64_t number);
    /// Waits for all.
    Result<void> finish();

private:
    AsyncFile(Fd file, std::filesystem::path folder, std::string what)
        : file_(std::move(file)), folder_(std::move(folder)), what_(std::move(what)) {}
    void transfer(const char* what, ssize_t (*move)(int, void*, size_t, off_t), void* bytes, Bytes size,
                  std::uint64_t offset);
    Result<void> result() const;

    Fd file_;
    std::filesystem::path folder_;
    std::string what_;
    std::uint64_t size_ = 0;
    std::string failure_;  ///< written once before `failed_`
    std::atomic<bool> failed_{false};
    std::uint64_t last_ = 0;
    CallQueue queue_;  ///< ends first
};

}  // namespace plimsoll::engine
