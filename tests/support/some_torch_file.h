// SPDX-License-Identifier: Apache-2.0
// Files as torch.save and torch.distributed.checkpoint write them, made by hand so that a test can break any part.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/telemetry/frame.h"

namespace plimsoll {

/// All bytes of a literal, those behind a zero too.
template <std::size_t Size>
std::string bytes_of(const char (&literal)[Size]) {
    return {literal, Size - 1};
}

/// A pickle of protocol 2, put together from the end of the stack.
class PickleText {
public:
    std::string bytes = std::string("\x80\x02", 2);

    PickleText& op(std::string_view codes) {
        bytes += codes;
        return *this;
    }
    PickleText& text(std::string_view value) {
        bytes += 'X';
        put_u32(bytes, static_cast<std::uint32_t>(value.size()));
        bytes += value;
        return *this;
    }
    PickleText& number(std::int64_t value) {
        bytes += std::string_view("\x8a\x08", 2);
        put_u64(bytes, static_cast<std::uint64_t>(value));
        return *this;
    }
    PickleText& global(std::string_view module, std::string_view name) {
        bytes += 'c';
        return op(module).op("\n").op(name).op("\n");
    }
    PickleText& numbers(const std::vector<std::int64_t>& values) {
        op("(");
        for (const std::int64_t value : values) number(value);
        return op("t");
    }
    PickleText& size(const std::vector<std::int64_t>& values) {
        return global("torch", "Size").numbers(values).op("\x85R");
    }
    struct Tensor {
        std::string storage = "0";
        std::int64_t first = 0;
        std::vector<std::int64_t> sizes, strides;
        std::string type = "FloatStorage";
    };
    PickleText& tensor(const Tensor& t) {
        global("torch._utils", "_rebuild_tensor_v2").op("((").text("storage").global("torch", t.type).text(t.storage);
        text("cpu").number(1).op("tQ").number(t.first).numbers(t.sizes).numbers(t.strides);
        return op("\x89").global("collections", "OrderedDict").op(")RtR");
    }
    std::string done() { return bytes + "."; }
};

/// A zip archive of stored entries. Checksums are left 0, as without crc32 in torch, unless a test puts one in.
struct ZipText {
    struct Entry {
        std::string name, data;
        std::uint32_t crc = 0;
        std::uint16_t method = 0;
    };
    std::vector<Entry> entries;
    bool zip64 = false;

    std::string bytes() const {
        std::string out, directory;
        for (const Entry& each : entries) {
            const auto at = static_cast<std::uint32_t>(out.size());
            const auto size = static_cast<std::uint32_t>(each.data.size());
            put_u32(out, 0x04034B50);
            put_fields(out, each, size);
            put_u16(out, static_cast<std::uint16_t>(each.name.size()));
            put_u16(out, 0);
            out += each.name + each.data;
            put_u32(directory, 0x02014B50);
            put_u16(directory, 20);
            put_fields(directory, each, zip64 ? 0xFFFFFFFF : size);
            put_u16(directory, static_cast<std::uint16_t>(each.name.size()));
            put_u16(directory, zip64 ? 28 : 0);
            directory += std::string(10, '\0');
            put_u32(directory, zip64 ? 0xFFFFFFFF : at);
            directory += each.name;
            if (!zip64) continue;
            put_u16(directory, 1);
            put_u16(directory, 24);
            for (const std::uint64_t number : {std::uint64_t{size}, std::uint64_t{size}, std::uint64_t{at}})
                put_u64(directory, number);
        }
        const std::uint64_t at = out.size();
        out += directory;
        const std::uint64_t end = out.size();
        if (zip64) {
            put_u32(out, 0x06064B50);
            put_u64(out, 44);
            out += std::string(12, '\0');
            for (const std::uint64_t number : {entries.size(), entries.size(), directory.size(), std::size_t{at}})
                put_u64(out, number);
            put_u32(out, 0x07064B50);
            put_u32(out, 0);
            put_u64(out, end);
            put_u32(out, 1);
        }
        put_u32(out, 0x06054B50);
        put_u32(out, 0);
        put_u16(out, static_cast<std::uint16_t>(entries.size()));
        put_u16(out, static_cast<std::uint16_t>(entries.size()));
        put_u32(out, static_cast<std::uint32_t>(directory.size()));
        put_u32(out, zip64 ? 0xFFFFFFFF : static_cast<std::uint32_t>(at));
        put_u16(out, 0);
        return out;
    }

private:
    static void put_fields(std::string& out, const Entry& each, std::uint32_t size) {
        put_u16(out, 20);
        put_u16(out, 0);
        put_u16(out, each.method);
        put_u32(out, 0);
        put_u32(out, each.crc);
        put_u32(out, size);
        put_u32(out, size);
    }
};

/// The archive of a pickle and its storages "0", "1", …
inline ZipText torch_archive(const std::string& pickle, const std::vector<std::string>& storages) {
    ZipText zip;
    zip.entries.push_back({"archive/data.pkl", pickle});
    zip.entries.push_back({"archive/byteorder", "little"});
    for (std::size_t i = 0; i < storages.size(); ++i)
        zip.entries.push_back({"archive/data/" + std::to_string(i), storages[i]});
    return zip;
}

/// Bytes of the floats first, first + 1, …
inline std::string floats(int count, float first = 0) {
    std::string bytes;
    for (int i = 0; i < count; ++i) put_u32(bytes, std::bit_cast<std::uint32_t>(first + static_cast<float>(i)));
    return bytes;
}

}  // namespace plimsoll
