// SPDX-License-Identifier: Apache-2.0
#include "core/engine/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/engine/file_io.h"
#include "core/engine/safetensors_header.h"

namespace plimsoll::engine {

namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

Result<void> write_to(FileWriter& file, const NamedTensors& tensors, const std::string& header) {
    const std::uint64_t length = header.size();
    if (auto written = file.write(&length, sizeof length); !written) return written;
    if (auto written = file.write(header.data(), header.size()); !written) return written;
    for (const auto& [name, tensor] : tensors) {
        const torch::Tensor bytes = tensor.detach().cpu().contiguous();
        if (auto written = file.write(bytes.const_data_ptr(), bytes.nbytes()); !written) return written;
    }
    return file.finish();
}

Result<NamedTensors> read_from(const FileReader& file, const std::string& what, Metadata* metadata) {
    std::uint64_t length = 0;
    if (file.size() < sizeof length) return bad_input("{} is no safetensors file: it has {} bytes", what, file.size());
    if (auto read = file.read(&length, sizeof length, 0); !read) return tl::unexpected(read.error());
    const std::uint64_t rest = file.size() - sizeof length;
    if (length > max_safetensors_header || length > rest) {
        return bad_input("{} is no safetensors file, or cut short: its header would have {} bytes, the file has {}",
                         what, length, file.size());
    }
    std::string header(length, '\0');
    if (auto read = file.read(header.data(), length, sizeof length); !read) return tl::unexpected(read.error());
    const auto places = parse_safetensors_header(header, rest - length, what, metadata);
    if (!places) return tl::unexpected(places.error());

    NamedTensors tensors;
    for (const TensorPlace& place : *places) {
        torch::Tensor tensor = torch::empty(place.shape, place.dtype);
        const std::uint64_t begin = sizeof length + length + place.begin;
        if (auto got = file.read(tensor.mutable_data_ptr(), place.end - place.begin, begin); !got) {
            return tl::unexpected(got.error());
        }
        // A bool of torch is 0 or 1; another byte would be undefined behaviour in its kernels.
        if (place.dtype == torch::kBool) tensor.view(torch::kByte).clamp_max_(1);
        tensors.emplace_back(place.name, std::move(tensor));
    }
    return tensors;
}

}  // namespace

Result<void> write_safetensors(const std::filesystem::path& path, const NamedTensors& tensors,
                               const Metadata& metadata) {
    return without_exceptions(fmt::format("write {}", path.string()), [&]() -> Result<void> {
        NamedTensors ordered = tensors;
        std::stable_sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) {
            const auto size = [](const torch::Tensor& t) { return t.defined() ? t.element_size() : 0; };
            return std::pair(-static_cast<std::int64_t>(size(a.second)), std::string_view(a.first)) <
                   std::pair(-static_cast<std::int64_t>(size(b.second)), std::string_view(b.first));
        });
        const auto header = make_safetensors_header(ordered, metadata);
        if (!header) return bad_input("cannot write {}: {}", path.string(), header.error().message);
        auto file = FileWriter::create(path);
        if (!file) return tl::unexpected(file.error());
        return write_to(*file, ordered, *header);
    });
}

Result<NamedTensors> read_safetensors(const std::filesystem::path& path, Metadata* metadata) {
    return without_exceptions(fmt::format("read {}", path.string()), [&]() -> Result<NamedTensors> {
        const auto file = FileReader::open(path);
        if (!file) return tl::unexpected(file.error());
        return read_from(*file, path.string(), metadata);
    });
}

}  // namespace plimsoll::engine
