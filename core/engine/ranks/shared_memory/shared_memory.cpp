// SPDX-License-Identifier: Apache-2.0
#include "core/engine/ranks/shared_memory/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "core/base/file.h"

namespace plimsoll::engine {

Result<SharedMemory> SharedMemory::map(Fd file, std::size_t bytes) {
    struct stat found {};
    if (::fstat(file.get(), &found) != 0 || found.st_size != static_cast<off_t>(bytes)) {
        return failed("the shared memory is not {} bytes long", bytes);
    }
    void* const data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    if (data == MAP_FAILED) return failed("{} bytes of shared memory cannot be mapped: {}", bytes, errno_text(errno));
    return SharedMemory(std::move(file), static_cast<std::byte*>(data), bytes);
}

Result<SharedMemory> SharedMemory::create(std::size_t bytes) {
    Fd file(::memfd_create("plimsoll", MFD_CLOEXEC));
    if (file.get() < 0 || ::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) {
        return failed("{} bytes of shared memory cannot be had: {}", bytes, errno_text(errno));
    }
    return map(std::move(file), bytes);
}

Result<SharedMemory> SharedMemory::open(const std::string& address, std::size_t bytes) {
    Fd file(::open(address.c_str(), O_RDWR | O_CLOEXEC));
    if (file.get() < 0) return failed("the shared memory at {} cannot be opened: {}", address, errno_text(errno));
    auto mapped = map(std::move(file), bytes);
    if (mapped) mapped->close_address();
    return mapped;
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : file_(std::move(other.file_)), data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}

SharedMemory::~SharedMemory() {
    if (data_ != nullptr) ::munmap(data_, bytes_);
}

std::string SharedMemory::address() const { return fmt::format("/proc/{}/fd/{}", ::getpid(), file_.get()); }

}  // namespace plimsoll::engine
