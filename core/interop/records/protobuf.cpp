// SPDX-License-Identifier: Apache-2.0
#include "core/interop/records/protobuf.h"

#include <bit>

#include "core/telemetry/frame.h"

namespace plimsoll::protobuf {

namespace {

enum class Wire : std::uint32_t { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

void put_key(std::string& out, std::uint32_t field, Wire wire) {
    put_varint(out, (field << 3) | static_cast<std::uint32_t>(wire));
}

}  // namespace

void put_varint(std::string& out, std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out += static_cast<char>((value & 0x7F) | 0x80);
    out += static_cast<char>(value);
}

void put_number(std::string& out, std::uint32_t field, std::uint64_t value) {
    put_key(out, field, Wire::Varint);
    put_varint(out, value);
}

void put_bytes(std::string& out, std::uint32_t field, std::string_view bytes) {
    put_key(out, field, Wire::Bytes);
    put_varint(out, bytes.size());
    out += bytes;
}

void put_double(std::string& out, std::uint32_t field, double value) {
    put_key(out, field, Wire::Fixed64);
    put_f64(out, value);
}

void put_float(std::string& out, std::uint32_t field, float value) {
    put_key(out, field, Wire::Fixed32);
    put_u32(out, std::bit_cast<std::uint32_t>(value));
}

}  // namespace plimsoll::protobuf
