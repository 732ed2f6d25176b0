// SPDX-License-Identifier: Apache-2.0
// TensorBoard's event files, on the wire format of protocol buffers.
#include "core/interop/records/protobuf.h"
#include "core/interop/records/records_export.h"
#include "core/telemetry/frame.h"

namespace plimsoll {

namespace {

// Field numbers of event.proto, summary.proto, tensor.proto and tensor_shape.proto.
constexpr std::uint32_t event_wall_time = 1, event_step = 2, event_file_version = 3, event_summary = 5;
constexpr std::uint32_t summary_value = 1, value_tag = 1, value_simple = 2, value_tensor = 8, value_metadata = 9;
constexpr std::uint32_t metadata_plugin = 1, plugin_name = 1;
constexpr std::uint32_t tensor_dtype = 1, tensor_shape = 2, tensor_string = 8, shape_dim = 2, dim_size = 1;
constexpr std::uint64_t dt_string = 7;

using protobuf::put_bytes;
using protobuf::put_double;
using protobuf::put_float;
using protobuf::put_number;

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
