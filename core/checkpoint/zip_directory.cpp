// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/zip_directory.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>

#include "core/base/units.h"

namespace plimsoll {

namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

constexpr std::uint32_t local_mark = 0x04034B50, central_mark = 0x02014B50, end_mark = 0x06054B50,
                        end64_mark = 0x06064B50, locator_mark = 0x07064B50;
constexpr std::uint64_t local_size = 30, central_size = 46, end_size = 22, end64_size = 56, locator_size = 20;
constexpr std::uint64_t longest_comment = 65'535;
constexpr std::uint32_t elsewhere32 = 0xFFFFFFFF;  ///< the number stands in the zip64 record
constexpr std::uint16_t zip64_field = 0x0001;
constexpr std::uint64_t largest_directory = 64 * MiB;  ///< some 600,000 entries

template <class Number>
Number number_at(std::string_view bytes, std::size_t at) {
    Number value;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
}

/// The archive within its file.
class Window {
public:
    Window(const FileReader& file, std::uint64_t begin, std::uint64_t bytes, const std::string& what)
        : file_(file), begin_(begin), bytes_(bytes), what_(what) {}
    std::uint64_t size() const { return bytes_; }
    std::uint64_t begin() const { return begin_; }

    Result<std::string> read(std::uint64_t at, std::uint64_t size) const {
        if (at > bytes_ || size > bytes_ - at) return damaged("it is cut short");
        std::string text(size, '\0');
        PLIMSOLL_CHECK(file_.read(text.data(), size, begin_ + at));
        return text;
    }
    tl::unexpected<Error> damaged(std::string_view why) const {
        return bad_input("{} is no zip archive, as torch.save writes them, or a damaged one: {}", what_, why);
    }
    const std::string& what() const { return what_; }

private:
    const FileReader& file_;
    std::uint64_t begin_, bytes_;
    const std::string& what_;
};

struct Directory {
    std::uint64_t at = 0, bytes = 0, entries = 0;
};

/// From the record at the end, which a comment of unknown length may follow.
Result<Directory> find_directory(const Window& archive) {
    const std::uint64_t tail_size = std::min(archive.size(), end_size + longest_comment);
    const std::uint64_t tail_at = archive.size() - tail_size;
    PLIMSOLL_TRY(const auto tail, archive.read(tail_at, tail_size));
    for (std::uint64_t back = end_size; back <= tail_size; ++back) {
        const std::string_view end = std::string_view(tail).substr(tail_size - back);
        if (number_at<std::uint32_t>(end, 0) != end_mark || number_at<std::uint16_t>(end, 20) != back - end_size)
            continue;
        Directory found{number_at<std::uint32_t>(end, 16), number_at<std::uint32_t>(end, 12),
                        number_at<std::uint16_t>(end, 10)};
        const std::uint64_t end_at = archive.size() - back;
        if (end_at < locator_size) return found;
        PLIMSOLL_TRY(const auto locator, archive.read(end_at - locator_size, locator_size));
        if (number_at<std::uint32_t>(locator, 0) != locator_mark) return found;
        PLIMSOLL_TRY(const auto end64, archive.read(number_at<std::uint64_t>(locator, 8), end64_size));
        if (number_at<std::uint32_t>(end64, 0) != end64_mark) return archive.damaged("its zip64 record is missing");
        return Directory{number_at<std::uint64_t>(end64, 48), number_at<std::uint64_t>(end64, 40),
                         number_at<std::uint64_t>(end64, 32)};
    }
    return archive.damaged("the directory at its end is missing");
}

/// Sizes and offsets of 2^32 - 1 stand in the zip64 field instead, in this order.
bool take_zip64(std::string_view extra, std::uint64_t& size, std::uint64_t& stored, std::uint64_t& offset) {
    while (extra.size() >= 4) {
        const auto id = number_at<std::uint16_t>(extra, 0);
        const std::size_t length = number_at<std::uint16_t>(extra, 2);
        if (length > extra.size() - 4) return false;
        std::string_view field = extra.substr(4, length);
        extra.remove_prefix(4 + length);
        if (id != zip64_field) continue;
        for (std::uint64_t* number : {&size, &stored, &offset}) {
            if (*number != elsewhere32) continue;
            if (field.size() < 8) return false;
            *number = number_at<std::uint64_t>(field, 0);
            field.remove_prefix(8);
        }
        return true;
    }
    return size != elsewhere32 && stored != elsewhere32 && offset != elsewhere32;
}

}  // namespace

Result<std::vector<ZipEntry>> read_zip_directory(const FileReader& file, std::uint64_t begin, std::uint64_t bytes,
                                                 const std::string& what) {
    if (begin > file.size() || bytes > file.size() - begin) {
        return bad_input("{} is cut short: an archive has {} bytes from byte {}, the file has {}", what, bytes, begin,
                         file.size());
    }
    const Window archive(file, begin, bytes, what);
    if (bytes < end_size) return archive.damaged(fmt::format("it has {} bytes", bytes));
    PLIMSOLL_TRY(const auto found, find_directory(archive));
    if (found.bytes > largest_directory || found.entries > found.bytes / central_size)
        return archive.damaged(
            fmt::format("its directory would have {} bytes and {} entries", found.bytes, found.entries));
    PLIMSOLL_TRY(const auto text, archive.read(found.at, found.bytes));

    std::vector<ZipEntry> entries;
    std::string_view rest = text;
    std::uint64_t in_all = 0;  // of headers and contents, none of which lies upon another
    for (std::uint64_t i = 0; i < found.entries; ++i) {
        if (rest.size() < central_size || number_at<std::uint32_t>(rest, 0) != central_mark)
            return archive.damaged(fmt::format("entry {} of its directory is missing", i));
        const std::size_t name = number_at<std::uint16_t>(rest, 28), extra = number_at<std::uint16_t>(rest, 30),
                          comment = number_at<std::uint16_t>(rest, 32);
        if (name + extra + comment > rest.size() - central_size) return archive.damaged("its directory is cut short");
        ZipEntry entry;
        entry.name = rest.substr(central_size, name);
        entry.crc = number_at<std::uint32_t>(rest, 16);
        std::uint64_t stored = number_at<std::uint32_t>(rest, 20), at = number_at<std::uint32_t>(rest, 42);
        entry.bytes = number_at<std::uint32_t>(rest, 24);
        if (!take_zip64(rest.substr(central_size + name, extra), entry.bytes, stored, at))
            return archive.damaged("a zip64 field is missing");
        const bool encrypted = (number_at<std::uint16_t>(rest, 8) & 1U) != 0;
        if (encrypted || number_at<std::uint16_t>(rest, 10) != 0 || stored != entry.bytes)
            return bad_input(
                "{} is a zip archive whose entries are compressed or encrypted; torch.save writes none such", what);
        rest.remove_prefix(central_size + name + extra + comment);
        // The local header's name and extra field have lengths of their own.
        PLIMSOLL_TRY(const auto local, archive.read(at, local_size));
        if (number_at<std::uint32_t>(local, 0) != local_mark) return archive.damaged("an entry has no header");
        at += local_size + number_at<std::uint16_t>(local, 26) + number_at<std::uint16_t>(local, 28);
        if (at > bytes || entry.bytes > bytes - at) return archive.damaged("an entry ends behind its end");
        in_all += local_size + entry.bytes;
        if (in_all > bytes) return archive.damaged("its entries lie upon each other");
        entry.begin = begin + at;
        entries.push_back(std::move(entry));
    }
    return entries;
}

}  // namespace plimsoll
