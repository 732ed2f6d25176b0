// SPDX-License-Identifier: Apache-2.0
#include "core/engine/safetensors_header.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <set>

#include "core/base/json.h"

namespace plimsoll::engine {

namespace {

constexpr std::array<std::pair<std::string_view, torch::ScalarType>, 16> dtypes{{
    {"BOOL", torch::kBool},
    {"U8", torch::kByte},
    {"I8", torch::kChar},
    {"F8_E5M2", torch::kFloat8_e5m2},
    {"F8_E4M3", torch::kFloat8_e4m3fn},
    {"I16", torch::kShort},
    {"U16", torch::kUInt16},
    {"F16", torch::kHalf},
    {"BF16", torch::kBFloat16},
    {"I32", torch::kInt},
    {"U32", torch::kUInt32},
    {"F32", torch::kFloat},
    {"C64", torch::kComplexFloat},
    {"F64", torch::kDouble},
    {"I64", torch::kLong},
    {"U64", torch::kUInt64},
}};

std::optional<torch::ScalarType> dtype_named(const Json& name) {
    if (!name.is_string()) return std::nullopt;
    for (const auto& [known, dtype] : dtypes) {
        if (name.get_ref<const std::string&>() == known) return dtype;
    }
    return std::nullopt;
}

std::optional<std::string_view> name_of(torch::ScalarType dtype) {
    for (const auto& [name, known] : dtypes) {
        if (known == dtype) return name;
    }
    return std::nullopt;
}

/// Bytes of a tensor; nothing where a product leaves int64. Sizes of 0 count as 1 on the way: torch multiplies them so
/// for strides, and [0, 2^62, 2^62] must not wrap around there.
std::optional<std::uint64_t> bytes_of(const std::vector<std::int64_t>& shape, torch::ScalarType dtype) {
    std::int64_t product = static_cast<std::int64_t>(c10::elementSize(dtype));
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
    const auto dtype = dtype_named(json["dtype"]);
    if (!dtype) {
        return bad_input("{}: tensor \"{}\" has dtype {}, which cannot be read; convert it to F32, F16 or BF16", what,
                         name, shown(json["dtype"]));
    }
    place.dtype = *dtype;
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
    const auto bytes = bytes_of(place.shape, place.dtype);
    if (!bytes || place.end < place.begin || place.end - place.begin != *bytes) {
        return bad_input("{}: tensor \"{}\" of shape {} and dtype {} does not fit its place {}; the file is damaged",
                         what, name, shown(shape), shown(json["dtype"]), shown(offsets));
    }
    return place;
}

Result<void> parse_metadata(const Json& json, const std::string& what, Metadata* metadata) {
    if (!json.is_object()) return bad_input("{}: __metadata__ is {}, no object", what, shown(json));
    for (const auto& [key, value] : json.items()) {
        if (!value.is_string()) {
            return bad_input("{}: __metadata__ of \"{}\" is {}; only text is allowed", what, key, shown(value));
        }
        if (metadata != nullptr) (*metadata)[key] = value.get<std::string>();
    }
    return {};
}

}  // namespace

Result<std::vector<TensorPlace>> parse_safetensors_header(std::string_view json, std::uint64_t data_bytes,
                                                          const std::string& what, Metadata* metadata) {
    if (!json.starts_with('{')) return bad_input("{} is no safetensors file: its header does not start with {{", what);
    const Result<Json> document = parse_json(json, what);
    if (!document) return tl::unexpected(document.error());

    std::vector<TensorPlace> places;
    for (const auto& [name, value] : document->items()) {
        if (name == "__metadata__") {
            if (auto parsed = parse_metadata(value, what, metadata); !parsed) return tl::unexpected(parsed.error());
            continue;
        }
        auto place = parse_place(name, value, what);
        if (!place) return tl::unexpected(place.error());
        places.push_back(std::move(*place));
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
    return places;
}

Result<std::string> make_safetensors_header(const NamedTensors& tensors, const Metadata& metadata) {
    Json document = Json::object();
    for (const auto& [key, value] : metadata) {
        if (!valid_utf8(key) || !valid_utf8(value)) return bad_input("metadata \"{}\" is not UTF-8 text", key);
        document["__metadata__"][key] = value;
    }
    std::set<std::string_view> names{"__metadata__"};
    std::uint64_t next = 0;
    for (const auto& [name, tensor] : tensors) {
        if (!valid_utf8(name)) return bad_input("the name of a tensor is not UTF-8 text");
        if (!names.insert(name).second) return bad_input("two tensors are named \"{}\"", name);
        if (!tensor.defined()) return bad_input("tensor \"{}\" has no value", name);
        const auto dtype = name_of(tensor.scalar_type());
        if (!dtype) return bad_input("a safetensors file cannot hold tensor \"{}\" of its dtype", name);
        const std::uint64_t end = next + tensor.nbytes();
        document[name] = {{"dtype", *dtype}, {"shape", tensor.sizes().vec()}, {"data_offsets", {next, end}}};
        next = end;
    }
    std::string text = document.dump();
    text.append((8 - text.size() % 8) % 8, ' ');
    if (text.size() > max_safetensors_header) return bad_input("the names of the tensors need more than 100 MB");
    return text;
}

}  // namespace plimsoll::engine
