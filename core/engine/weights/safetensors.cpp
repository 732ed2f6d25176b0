// SPDX-License-Identifier: Apache-2.0
#include "core/engine/weights/safetensors.h"

#include <algorithm>
#include <array>

#include "core/engine/base/without_exceptions.h"

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

std::string_view name_of(torch::ScalarType dtype) {
    const auto found =
        std::find_if(dtypes.begin(), dtypes.end(), [&](const auto& entry) { return entry.second == dtype; });
    return found == dtypes.end() ? std::string_view() : found->first;
}

Result<std::vector<TensorPlace>> places_of(const NamedTensors& tensors) {
    std::vector<TensorPlace> places;
    std::uint64_t next = 0;
    for (const auto& [name, tensor] : tensors) {
        if (!tensor.defined()) return bad_input("tensor \"{}\" has no value", name);
        const std::string_view dtype = name_of(tensor.scalar_type());
        if (dtype.empty()) return bad_input("a safetensors file cannot hold tensor \"{}\" of its dtype", name);
        places.push_back({name, std::string(dtype), tensor.sizes().vec(), next, next + tensor.nbytes()});
        next += tensor.nbytes();
    }
    return places;
}

Result<void> write_to(FileWriter& file, const NamedTensors& tensors, const std::string& header) {
    if (auto written = write_safetensors_header(file, header); !written) return written;
    for (const auto& [name, tensor] : tensors) {
        const torch::Tensor bytes = tensor.detach().cpu().contiguous();
        if (auto written = file.write(bytes.const_data_ptr(), bytes.nbytes()); !written) return written;
    }
    return file.finish();
}

Result<NamedTensors> read_from(const FileReader& file, const std::string& what, Metadata* metadata) {
    PLIMSOLL_TRY(auto header, read_safetensors_header(file, what));
    if (metadata != nullptr) metadata->merge(header.metadata);
    NamedTensors tensors;
    for (const TensorPlace& place : header.places) {
        torch::Tensor tensor = torch::empty(place.shape, dtype_named(place.dtype));
        PLIMSOLL_CHECK(file.read(tensor.mutable_data_ptr(), place.bytes(), header.data + place.begin));
        // A bool of torch is 0 or 1; other bytes would be undefined behaviour in its kernels.
        if (tensor.scalar_type() == torch::kBool) tensor.view(torch::kByte).clamp_max_(1);
        tensors.emplace_back(place.name, std::move(tensor));
    }
    return tensors;
}

}  // namespace

torch::ScalarType dtype_named(std::string_view name) {
    const auto found =
        std::find_if(dtypes.begin(), dtypes.end(), [&](const auto& entry) { return entry.first == name; });
    TORCH_CHECK(found != dtypes.end(), "no dtype ", name);
    return found->second;
}

Result<void> write_safetensors(const std::filesystem::path& path, const NamedTensors& tensors,
                               const Metadata& metadata) {
    return without_exceptions(fmt::format("write {}", path.string()), [&]() -> Result<void> {
        NamedTensors ordered = tensors;
        std::stable_sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) {
            const auto size = [](const torch::Tensor& t) { return t.defined() ? t.element_size() : 0; };
            return std::pair(-static_cast<std::int64_t>(size(a.second)), std::string_view(a.first)) <
                   std::pair(-static_cast<std::int64_t>(size(b.second)), std::string_view(b.first));
        });
        const auto header = places_of(ordered).and_then(
            [&](const std::vector<TensorPlace>& places) { return make_safetensors_header(places, metadata); });
        if (!header) return bad_input("cannot write {}: {}", path.string(), header.error().message);
        PLIMSOLL_TRY(auto file, FileWriter::create(path));
        return write_to(file, ordered, *header);
    });
}

Result<NamedTensors> read_safetensors(const std::filesystem::path& path, Metadata* metadata) {
    return without_exceptions(fmt::format("read {}", path.string()), [&]() -> Result<NamedTensors> {
        PLIMSOLL_TRY(const auto file, FileReader::open(path));
        return read_from(file, path.string(), metadata);
    });
}

}  // namespace plimsoll::engine
