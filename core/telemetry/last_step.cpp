// SPDX-License-Identifier: Apache-2.0
#include "core/telemetry/last_step.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/telemetry/frame.h"

namespace plimsoll {

namespace {

/// Twice the largest frame: wherever the tail begins, a whole frame is in it.
constexpr std::uint64_t tail = 2 * (frame_header + max_payload);

}  // namespace

std::uint64_t last_recorded_step(const std::filesystem::path& record) {
    // O_NONBLOCK: opening a FIFO must not hang.
    const int fd = ::open(record.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return 0;
    std::uint64_t last = 0;
    struct stat info {};
    if (::fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
        const auto size = static_cast<std::uint64_t>(info.st_size);
        FrameScanner scanner = size > tail ? FrameScanner::from(size - tail) : FrameScanner();
        // An error is a file that is no record: no step.
        static_cast<void>(scanner.scan(fd, size, static_cast<Bytes>(tail), [&](std::string_view payload) {
            ByteReader in(payload);
            if (static_cast<RecordType>(in.u8()) == RecordType::Points) last = in.u64();
        }));
    }
    ::close(fd);
    return last;
}

}  // namespace plimsoll
