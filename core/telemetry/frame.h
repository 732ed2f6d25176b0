// SPDX-License-Identifier: Apache-2.0
// The bytes of a record file: little-endian numbers, checksummed frames, and the search for good ones.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/base/units.h"

namespace plimsoll {

inline constexpr std::string_view record_magic = "PLMSREC1";
inline constexpr std::size_t frame_header = 8;           ///< u32 payload length, u32 CRC-32C
inline constexpr std::size_t max_payload = 1024 * 1024;  ///< longer lengths are damage
inline constexpr std::size_t max_series_name = 256;
enum class RecordType : std::uint8_t { Series = 1, Points = 2, Event = 3 };

/// CRC-32C (Castagnoli, reflected 0x82F63B78), as in iSCSI (RFC 3720, appendix B.4) and ext4.
std::uint32_t crc32c(std::string_view bytes);

void put_u16(std::string& out, std::uint16_t value);
void put_u32(std::string& out, std::uint32_t value);
void put_u64(std::string& out, std::uint64_t value);
void put_f64(std::string& out, double value);
/// Length, checksum and payload.
void put_frame(std::string& out, std::string_view payload);

/// Takes numbers off the front of a payload. A read past the end gives zeros and makes ok() false.
class ByteReader {
public:
    explicit ByteReader(std::string_view bytes) : rest_(bytes) {}
    std::uint8_t u8() { return static_cast<std::uint8_t>(number(1)); }
    std::uint16_t u16() { return static_cast<std::uint16_t>(number(2)); }
    std::uint32_t u32() { return static_cast<std::uint32_t>(number(4)); }
    std::uint64_t u64() { return number(8); }
    double f64() { return std::bit_cast<double>(number(8)); }
    std::string_view text(std::size_t size);
    std::string_view rest() const { return rest_; }
    bool ok() const { return ok_; }

private:
    std::uint64_t number(std::size_t size);
    std::string_view rest_;
    bool ok_ = true;
};

/// Walks the good frames of a record file that may be torn, damaged, hostile or growing. Used by the reader (again and
/// again, as the file grows) and by the writer (once, to find where the good part ends).
class FrameScanner {
public:
    FrameScanner() = default;
    /// Starts at the first good frame at or after `offset` (not 0), wherever in a frame that is.
    static FrameScanner from(std::uint64_t offset);

    /// Hands out the payload of each good frame in [offset, offset + limit); `fd` is read with pread. Stops before a
    /// torn tail. After damage it looks for the next good frame, with bounded effort a call.
    /// Error when the file is no record file: it does not begin with the magic, and no good frame is near its beginning.
    Result<void> scan(int fd, std::uint64_t file_size, Bytes limit, const std::function<void(std::string_view)>& take);

    bool at_end() const { return at_end_; }
    std::uint64_t offset() const { return offset_; }
    /// End of the last good frame (or of the magic): what comes after it is torn or damaged.
    std::uint64_t good_end() const { return good_end_; }
    std::size_t damaged() const { return damaged_; }     ///< damaged places passed over so far
    bool head_damaged() const { return head_damaged_; }  ///< the magic was not there, and good frames were
    /// The file under `fd` still holds the last frame where it was read: false when it was replaced or rewritten.
    bool still_there(int fd) const;

private:
    Result<void> pass_head(int fd, std::uint64_t file_size);
    void walk(std::string_view data, const std::function<void(std::string_view)>& take);

    std::uint64_t offset_ = 0;
    std::uint64_t good_end_ = 0;
    std::uint64_t last_frame_ = 0;
    std::string last_header_;
    bool seeking_ = false;  ///< behind damage, no good frame found yet
    bool head_damaged_ = false;
    bool at_end_ = true;
    std::size_t damaged_ = 0;
};

}  // namespace plimsoll
