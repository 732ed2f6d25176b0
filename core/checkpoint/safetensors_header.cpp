// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/safetensors_header.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <optional>
#include <set>

#include "core/base/json.h"

namespace plimsoll {

namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

constexpr std::array<std::pair<std::string_view, std::int64_t>, 16> element_sizes{{
    {"BOOL", 1},
    {"U8", 1},
    {"I8", 1},
    {"F8_E5M2", 1},
    {"F8_E4M3", 1},
    {"I16", 2},
    {"U16", 2},
    {"F16", 2},
    {"BF16", 2},
    {"I32", 4},
    {"U32", 4},
    {"F32", 4},
    {"C64", 8},
    {"F64", 8},
    {"I64", 8},
    {"U64", 8},
}};

std::optional<std::int64_t> element_size(std::string_view dtype) {
    for (const auto& [known, size] : element_sizes) {
        if (known == dtype) return size;
    }
    return std::nullopt;
}

/// Bytes of a tensor; nothing where a product leaves int64. Sizes of 0 count as 1 on the way: torch multiplies them so
/// for strides, and [0, 2^62, 2^62] must not wrap around there.
std::optional<std::uint64_t> bytes_of(const std::vector<std::int64_t>& shape, std::int64_t element) {
    std::int64_t product = element;
    bool empty = false;
    for (const std::int64_t size : shape) {
        empty = empty || size == 0;
        if (__builtin_mul_overflow(product, std::max<std::int64_t>(size, 1), &product)) return std::nullopt;
    }
    return empty ? 0 : static_cast<std::uint64_t>(product);
}

/// A whole number from 0, written as one: 4.0, 4e0, -0 and numbers beyond 64 bits are not.
bool is_size(const Json& json) { return json.is_number_unsigned(); }

Result<TensorPlace> parse_place(const std::string& name, const Json& json, const std::string& what) {
    if (!json.is_object() || json.size() != 3 || !json.contains("dtype") || !json.contains("shape") ||
        !json.contains("data_offsets")) {
        return bad_input("{}: tensor \"{}\" needs dtype, shape and data_offsets, and nothing else; the file is damaged",
                         what, name);
    }
    TensorPlace place;
    place.name = name;
    if (json["dtype"].is_string()) place.dtype = json["dtype"].get<std::string>();
    const auto element = element_size(place.dtype);
    if (!element) {
        return bad_input("{}: tensor \"{}\" has dtype {}, which cannot be read; convert it to F32, F16 or BF16", what,
                         name, shown(json["dtype"]));
    }
    const Json& shape = json["shape"];
    if (!shape.is_array()) return bad_input("{}: shape of tensor \"{}\" is {}, no list", what, name, shown(shape));
    for (const Json& size : shape) {
        if (!is_size(size) || size.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max()) {
            return bad_input("{}: shape of tensor \"{}\" holds {}, no size", what, name, shown(size));
        }
        place.shape.push_back(size.get<std::int64_t>());
    }
    const Json& offsets = json["data_offsets"];
    if (!offsets.is_array() || offsets.size() != 2 || !is_size(offsets[0]) || !is_size(offsets[1])) {
        return bad_input("{}: data_offsets of tensor \"{}\" are {}; two whole numbers from 0 are needed", what, name,
                         shown(offsets));
    }
    place.begin = offsets[0].get<std::uint64_t>();
    place.end = offsets[1].get<std::uint64_t>();
    const auto bytes = bytes_of(place.shape, *element);
    if (!bytes || place.end < place.begin || place.end - place.begin != *bytes) {
        return bad_input("{}: tensor \"{}\" of shape {} and dtype {} does not fit its place {}; the file is damaged",
                         what, name, shown(shape), shown(json["dtype"]), shown(offsets));
    }
    return place;
}

Result<void> parse_metadata(const Json& json, const std::string& what, Metadata& metadata) {
    if (!json.is_object()) return bad_input("{}: __metadata__ is {}, no object", what, shown(json));
    for (const auto& [key, value] : json.items()) {
        if (!value.is_string()) {
            return bad_input("{}: __metadata__ of \"{}\" is {}; only text is allowed", what, key, shown(value));
        }
        metadata[key] = value.get<std::string>();
    }
    return {};
}

}  // namespace

Result<SafetensorsHeader> parse_safetensors_header(std::string_view json, std::uint64_t data_bytes,
                                                   const std::string& what) {
    if (!json.starts_with('{')) return bad_input("{} is no safetensors file: its header does not start with {{", what);
    PLIMSOLL_TRY(const Json document, parse_json(json, what));

    SafetensorsHeader header;
    std::vector<TensorPlace>& places = header.places;
    for (const auto& [name, value] : document.items()) {
        if (name == "__metadata__") {
            PLIMSOLL_CHECK(parse_metadata(value, what, header.metadata));
            continue;
        }
        PLIMSOLL_TRY(auto place, parse_place(name, value, what));
        places.push_back(std::move(place));
    }
    std::sort(places.begin(), places.end(), [](const TensorPlace& a, const TensorPlace& b) {
        return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
    });
    std::uint64_t next = 0;
    for (const TensorPlace& place : places) {
        if (place.begin != next) {
            return bad_input("{}: tensor \"{}\" starts at byte {} of the data, and the one before ends at {}: {}", what,
                             place.name, place.begin, next, place.begin < next ? "they overlap" : "there is a hole");
        }
        next = place.end;
    }
    if (next != data_bytes) {
        return bad_input("{}: the header tells of {} bytes of data, and the file has {}: it is {}", what, next,
                         data_bytes, next > data_bytes ? "cut short" : "too long");
    }
    return header;
}

Result<SafetensorsHeader> read_safetensors_header(const FileReader& file, const std::string& what) {
    std::uint64_t length = 0;
    if (file.size() < sizeof length) return bad_input("{} is no safetensors file: it has {} bytes", what, file.size());
    PLIMSOLL_CHECK(file.read(&length, sizeof length, 0));
    const std::uint64_t rest = file.size() - sizeof length;
    if (length > max_safetensors_header || length > rest) {
        return bad_input("{} is no safetensors file, or cut short: its header would have {} bytes, the file has {}",
                         what, length, file.size());
    }
    std::string text(length, '\0');
    PLIMSOLL_CHECK(file.read(text.data(), length, sizeof length));
    auto header = parse_safetensors_header(text, rest - length, what);
    if (header) header->data = sizeof length + length;
    return header;
}

Result<std::string> make_safetensors_header(const std::vector<TensorPlace>& tensors, const Metadata& metadata) {
    Json document = Json::object();
    for (const auto& [key, value] : metadata) {
        if (!valid_utf8(key) || !valid_utf8(value)) return bad_input("metadata \"{}\" is not UTF-8 text", key);
        document["__metadata__"][key] = value;
    }
    std::set<std::string_view> names{"__metadata__"};
    std::uint64_t next = 0;
    for (const TensorPlace& tensor : tensors) {
        if (!valid_utf8(tensor.name)) return bad_input("the name of a tensor is not UTF-8 text");
        if (!names.insert(tensor.name).second) return bad_input("two tensors are named \"{}\"", tensor.name);
        const std::uint64_t end = next + tensor.bytes();
        document[tensor.name] = {{"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {next, end}}};
        next = end;
    }
    std::string text = document.dump();
    text.append((8 - text.size() % 8) % 8, ' ');
    if (text.size() > max_safetensors_header) return bad_input("the names of the tensors need more than 100 MB");
    return text;
}

Result<void> write_safetensors_header(FileWriter& file, const std::string& header) {
    const std::uint64_t length = header.size();
    if (auto written = file.write(&length, sizeof length); !written) return written;
    return file.write(header.data(), header.size());
}

}  // namespace plimsoll
