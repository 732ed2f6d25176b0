// SPDX-License-Identifier: Apache-2.0
#include "core/engine/ranks/shared_memory/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "core/base/file.h"

namespace plimsoll::engine {

namespace {

/// The creator cannot make the memory shorter under a rank that reads it.
constexpr int size_seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

/// "/proc/PID/fd/NUMBER" of that process.
bool is_descriptor_of(pid_t creator, const std::string& address) {
    const std::string folder = fmt::format("/proc/{}/fd/", creator);
    if (!address.starts_with(folder)) return false;
    const std::string_view number = std::string_view(address).substr(folder.size());
    return !number.empty() && number.size() <= 9 && number.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

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
    Fd file(::memfd_create("plimsoll", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (file.get() < 0 || ::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0 ||
        ::fcntl(file.get(), F_ADD_SEALS, size_seals) != 0) {
        return failed("{} bytes of shared memory cannot be had: {}", bytes, errno_text(errno));
    }
    return map(std::move(file), bytes);
}

Result<SharedMemory> SharedMemory::open(const std::string& address, pid_t creator, std::size_t bytes) {
    if (!is_descriptor_of(creator, address))
        return failed("\"{}\" is no memory of rank 0 (process {})", address, creator);
    // O_NONBLOCK: a FIFO or a device behind that number must not hang the rank.
    Fd file(::open(address.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
    if (file.get() < 0) return failed("the shared memory at {} cannot be opened: {}", address, errno_text(errno));
    struct stat found {};
    const bool own = ::fstat(file.get(), &found) == 0 && S_ISREG(found.st_mode) && found.st_uid == ::geteuid();
    // Only anonymous files have seals: no file of a folder can stand for one.
    const int seals = ::fcntl(file.get(), F_GET_SEALS);
    if (!own || seals < 0 || (seals & size_seals) != size_seals)
        return failed("what lies at {} is no shared memory of this user", address);
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
