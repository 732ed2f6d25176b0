// SPDX-License-Identifier: Apache-2.0
// TensorBoard's event files, on the wire format of protocol buffers.
#include <bit>

#include "core/interop/records_export.h"
#include "core/telemetry/frame.h"

namespace plimsoll {

namespace {

// Field numbers of event.proto, summary.proto, tensor.proto and tensor_shape.proto.
constexpr std::uint32_t event_wall_time = 1, event_step = 2, event_file_version = 3, event_summary = 5;
constexpr std::uint32_t summary_value = 1, value_tag = 1, value_simple = 2, value_tensor = 8, value_metadata = 9;
constexpr std::uint32_t metadata_plugin = 1, plugin_name = 1;
constexpr std::uint32_t tensor_dtype = 1, tensor_shape = 2, tensor_string = 8, shape_dim = 2, dim_size = 1;
constexpr std::uint64_t dt_string = 7;

enum class Wire : std::uint32_t { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

void put_varint(std::string& out, std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out += static_cast<char>((value & 0x7F) | 0x80);
    out += static_cast<char>(value);
}

void put_key(std::string& out, std::uint32_t field, Wire wire) {
    put_varint(out, (field << 3) | static_cast<std::uint32_t>(wire));
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

std::uint32_t masked_crc(std::string_view bytes) {
    const std::uint32_t crc = crc32c(bytes);
    return ((crc >> 15) | (crc << 17)) + 0xA282EAD8U;
}

std::string event(std::uint64_t step, double time, std::string_view summary) {
    std::string out;
    put_double(out, event_wall_time, time);
    put_number(out, event_step, step);
    put_bytes(out, event_summary, summary);
    return out;
}

}  // namespace

std::string tensorboard_frame(std::string_view event) {
    std::string length;
    put_u64(length, event.size());
    std::string out = length;
    put_u32(out, masked_crc(length));
    out += event;
    put_u32(out, masked_crc(event));
    return out;
}

std::string tensorboard_header(double time) {
    std::string out;
    put_double(out, event_wall_time, time);
    put_bytes(out, event_file_version, "brain.Event:2");
    return out;
}

std::string tensorboard_scalars(std::uint64_t step, double time, const std::vector<TensorBoardScalar>& scalars) {
    std::string summary;
    for (const TensorBoardScalar& each : scalars) {
        std::string value;
        put_bytes(value, value_tag, each.tag);
        put_float(value, value_simple, static_cast<float>(each.value));
        put_bytes(summary, summary_value, value);
    }
    return event(step, time, summary);
}

std::string tensorboard_text(std::uint64_t step, double time, std::string_view tag, std::string_view text) {
    std::string dim, shape, tensor, plugin, metadata, value, summary;
    put_number(dim, dim_size, 1);
    put_bytes(shape, shape_dim, dim);
    put_number(tensor, tensor_dtype, dt_string);
    put_bytes(tensor, tensor_shape, shape);
    put_bytes(tensor, tensor_string, text);
    put_bytes(plugin, plugin_name, "text");
    put_bytes(metadata, metadata_plugin, plugin);
    put_bytes(value, value_tag, tag);
    put_bytes(value, value_tensor, tensor);
    put_bytes(value, value_metadata, metadata);
    put_bytes(summary, summary_value, value);
    return event(step, time, summary);
}

}  // namespace plimsoll
