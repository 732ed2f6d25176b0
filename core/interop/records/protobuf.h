// SPDX-License-Identifier: Apache-2.0
// The wire format of protocol buffers, for the few messages that the exports write
// (https://protobuf.dev/programming-guides/encoding).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace plimsoll::protobuf {

void put_varint(std::string& out, std::uint64_t value);

/// Appends a field of a message to `out`. A nested message is written as its bytes.
void put_number(std::string& out, std::uint32_t field, std::uint64_t value);
void put_bytes(std::string& out, std::uint32_t field, std::string_view bytes);
void put_double(std::string& out, std::uint32_t field, double value);
void put_float(std::string& out, std::uint32_t field, float value);

}  // namespace plimsoll::protobuf
