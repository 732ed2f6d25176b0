// SPDX-License-Identifier: Apache-2.0
#include "core/telemetry/frame.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "core/base/file.h"

namespace plimsoll {

namespace {

constexpr std::array<std::uint32_t, 256> crc_table = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < 256; ++i) {
        std::uint32_t crc = i;
        for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78U : 0U);
        table[i] = crc;
    }
    return table;
}();

void put(std::string& out, std::uint64_t value, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
}

/// Cheap test before the checksum is computed: do the type and the counts inside agree with the length?
bool plausible(std::string_view payload) {
    ByteReader in(payload);
    const auto type = static_cast<RecordType>(in.u8());
    if (type == RecordType::Series) {
        in.u16();
        in.text(in.u16());
        const std::size_t unit = in.u16();
        return in.ok() && in.rest().size() == unit;
    }
    if (type == RecordType::Points) {
        in.u64();
        in.f64();
        const std::size_t count = in.u16();
        return in.ok() && in.rest().size() == count * 10;
    }
    if (type == RecordType::Event) {
        in.u64();
        in.f64();
        return in.ok() && in.rest().starts_with('{') && in.rest().ends_with('}');
    }
    return false;
}

/// The largest frame always fits into one read, so that each call gets on.
constexpr std::uint64_t least_read = 2 * (frame_header + max_payload);

enum class FrameStatus { Good, Incomplete, Damaged };

struct Frame {
    FrameStatus status = FrameStatus::Damaged;
    std::string_view payload;
    std::size_t end = 0;  ///< where the next frame starts, if the length can be trusted
};

Frame frame_at(std::string_view data, std::size_t at) {
    Frame frame;
    if (data.size() - at < frame_header) return {FrameStatus::Incomplete, {}, at};
    ByteReader header(data.substr(at, frame_header));
    const std::size_t length = header.u32();
    const std::uint32_t crc = header.u32();
    if (length == 0 || length > max_payload) return {FrameStatus::Damaged, {}, at};
    if (data.size() - at - frame_header < length) return {FrameStatus::Incomplete, {}, at};
    frame.payload = data.substr(at + frame_header, length);
    frame.end = at + frame_header + length;
    if (plausible(frame.payload) && crc32c(frame.payload) == crc) frame.status = FrameStatus::Good;
    return frame;
}

/// First good frame at or after `at`, or data.size(). A crafted file could ask for a checksum at each byte: `budget`
/// ends that.
std::size_t next_good(std::string_view data, std::size_t at) {
    std::int64_t budget = 16 * MiB;
    for (; at + frame_header < data.size() && budget > 0; ++at) {
        const Frame frame = frame_at(data, at);
        if (frame.status == FrameStatus::Good) return at;
        if (plausible(frame.payload)) budget -= static_cast<std::int64_t>(frame.payload.size());
    }
    return data.size();
}

/// All of its bytes but one are right.
bool is_nearly_magic(std::string_view data) {
    std::size_t right = 0;
    for (std::size_t i = 0; i < record_magic.size(); ++i) right += data[i] == record_magic[i] ? 1 : 0;
    return right + 1 >= record_magic.size();
}

Result<std::string> read_at(int fd, std::uint64_t offset, std::size_t size) {
    std::string data(size, '\0');
    std::size_t done = 0;
    while (done < size) {
        const ssize_t n = ::pread(fd, data.data() + done, size - done, static_cast<off_t>(offset + done));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return failed("cannot read a record file: {}", errno_text(errno));
        if (n == 0) break;
        done += static_cast<std::size_t>(n);
    }
    data.resize(done);
    return data;
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
    std::uint32_t crc = ~0U;
    for (const char c : bytes) crc = (crc >> 8) ^ crc_table[(crc ^ static_cast<unsigned char>(c)) & 0xff];
    return ~crc;
}

void put_u16(std::string& out, std::uint16_t value) { put(out, value, 2); }
void put_u32(std::string& out, std::uint32_t value) { put(out, value, 4); }
void put_u64(std::string& out, std::uint64_t value) { put(out, value, 8); }
void put_f64(std::string& out, double value) { put(out, std::bit_cast<std::uint64_t>(value), 8); }

void put_frame(std::string& out, std::string_view payload) {
    put_u32(out, static_cast<std::uint32_t>(payload.size()));
    put_u32(out, crc32c(payload));
    out += payload;
}

std::string_view ByteReader::text(std::size_t size) {
    if (size > rest_.size()) {
        ok_ = false;
        rest_ = {};
        return {};
    }
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
}

std::uint64_t ByteReader::number(std::size_t size) {
    std::uint64_t value = 0;
    const std::string_view bytes = text(size);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        value |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    }
    return value;
}

FrameScanner FrameScanner::from(std::uint64_t offset) {
    FrameScanner scanner;
    scanner.offset_ = scanner.good_end_ = offset;
    scanner.seeking_ = true;
    return scanner;
}

/// A flipped bit in the magic must not cost the run's whole record.
Result<void> FrameScanner::pass_head(int fd, std::uint64_t file_size) {
    PLIMSOLL_TRY(const auto beginning,
                 read_at(fd, 0, static_cast<std::size_t>(std::min<std::uint64_t>(file_size, least_read))));
    if (!beginning.starts_with(record_magic)) {
        if (!is_nearly_magic(beginning) && next_good(beginning, record_magic.size()) == beginning.size()) {
            return bad_input("not a record file: it does not start with {}", record_magic);
        }
        head_damaged_ = true;
        ++damaged_;
    }
    offset_ = good_end_ = record_magic.size();
    return {};
}

Result<void> FrameScanner::scan(int fd, std::uint64_t file_size, Bytes limit,
                                const std::function<void(std::string_view)>& take) {
    if (offset_ == 0) {
        if (file_size < record_magic.size()) {
            at_end_ = true;
            return {};
        }
        PLIMSOLL_CHECK(pass_head(fd, file_size));
    }
    const std::uint64_t size =
        std::max<std::uint64_t>(static_cast<std::uint64_t>(std::max<Bytes>(limit, 0)), least_read);
    const std::uint64_t left = file_size > offset_ ? file_size - offset_ : 0;
    PLIMSOLL_TRY(const auto data, read_at(fd, offset_, static_cast<std::size_t>(std::min(size, left))));
    walk(data, take);
    at_end_ = left <= size;
    return {};
}

void FrameScanner::walk(std::string_view data, const std::function<void(std::string_view)>& take) {
    const std::uint64_t start = offset_;
    std::size_t at = 0;
    while (at < data.size()) {
        if (seeking_) {
            const std::size_t found = next_good(data, at);
            if (found == data.size()) {
                // A good frame may have its start here and its end in the next piece.
                at = std::max(at, data.size() - std::min(data.size(), frame_header + max_payload));
                break;
            }
            seeking_ = false;
            at = found;
        }
        const Frame frame = frame_at(data, at);
        if (frame.status == FrameStatus::Incomplete) {
            // One write tears at the end only: a good frame further on means that the length here is damaged.
            const std::size_t found = next_good(data, at + 1);
            if (found == data.size()) break;
            ++damaged_;
            at = found;
            continue;
        }
        if (frame.status == FrameStatus::Damaged) {
            ++damaged_;
            const bool length_leads_on =
                frame.end > at && (frame.end == data.size() || frame_at(data, frame.end).status == FrameStatus::Good);
            if (length_leads_on) {
                at = frame.end;
            } else {
                // Stays at the damaged place: a writer that continues the file cuts it there and writes anew.
                seeking_ = true;
            }
            continue;
        }
        last_frame_ = start + at;
        last_header_ = data.substr(at, frame_header);
        at = frame.end;
        good_end_ = start + at;
        take(frame.payload);
    }
    offset_ = start + at;
}

bool FrameScanner::still_there(int fd) const {
    if (last_header_.empty()) return true;
    const auto header = read_at(fd, last_frame_, frame_header);
    return header && *header == last_header_;
}

}  // namespace plimsoll
