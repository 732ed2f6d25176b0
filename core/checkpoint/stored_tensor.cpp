// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/stored_tensor.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>

#include "core/base/file_io.h"
#include "core/base/units.h"
#include "core/checkpoint/torch_file.h"

namespace plimsoll {

namespace {

constexpr std::uint64_t block = 4 * MiB;
constexpr std::size_t most_dimensions = 64;
/// Pairs of boxes that are held against each other.
constexpr std::uint64_t most_comparisons = 100'000'000;

using Sizes = std::vector<std::int64_t>;

std::int64_t product(const Sizes& sizes) {
    return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
}

/// Elements [first, end) of its bytes that a part reads.
std::int64_t end_of(const StoredPart& part) {
    std::int64_t last = part.first;
    for (std::size_t d = 0; d < part.sizes.size(); ++d) last += (part.sizes[d] - 1) * part.strides[d];
    return last + 1;
}

/// Copies a strided box into a strided box, the last dimensions that are dense in both at once.
class BoxCopy {
public:
    BoxCopy(const Sizes& sizes, const Sizes& from, const Sizes& to, std::uint64_t element)
        : sizes_(sizes), from_(from), to_(to) {
        run_ = element;
        element_ = static_cast<std::int64_t>(element);
        std::int64_t dense = 1;
        while (!sizes_.empty() && (sizes_.back() == 1 || (from_.back() == dense && to_.back() == dense))) {
            dense *= sizes_.back();
            for (Sizes* each : {&sizes_, &from_, &to_}) each->pop_back();
        }
        run_ *= static_cast<std::uint64_t>(dense);
    }
    void copy(const char* from, char* to, std::size_t dimension = 0) const {
        if (dimension == sizes_.size()) {
            std::memcpy(to, from, run_);
            return;
        }
        for (std::int64_t i = 0; i < sizes_[dimension]; ++i)
            copy(from + i * from_[dimension] * element_, to + i * to_[dimension] * element_, dimension + 1);
    }

private:
    Sizes sizes_, from_, to_;
    std::uint64_t run_;
    std::int64_t element_;
};

Sizes row_major(const Sizes& shape) {
    Sizes strides(shape.size());
    std::int64_t step = 1;
    for (std::size_t d = shape.size(); d-- > 0;) {
        strides[d] = step;
        step *= shape[d];
    }
    return strides;
}

Result<StoredPart> opened(const StoredPart& part, const StoredTensor& tensor) {
    if (!part.archive) return part;
    PLIMSOLL_TRY(const auto file, TorchFile::open(part.bytes->path, part.bytes->begin, part.bytes->bytes));
    PLIMSOLL_TRY(const auto found, file.tensor(file.pickle().root(), tensor.name));
    if (!found || found->dtype != tensor.dtype || found->shape != part.sizes) {
        return bad_input("{} is damaged: its part of {} at byte {} is not what the metadata says",
                         part.bytes->path.string(), tensor.name, part.bytes->begin);
    }
    StoredPart inner = found->parts.front();
    inner.offsets = part.offsets;
    return inner;
}

}  // namespace

Result<void> read_bytes(const StoredBytes& run, std::uint64_t from, std::uint64_t size, char* out) {
    PLIMSOLL_TRY(const auto file, FileReader::open(run.path));
    if (!run.crc || run.checked) return file.read(out, size, run.begin + from);
    std::string piece;
    uLong sum = 0;
    for (std::uint64_t at = 0; at < run.bytes; at += block) {
        piece.resize(std::min(block, run.bytes - at));
        if (auto read = file.read(piece.data(), piece.size(), run.begin + at); !read) return read;
        sum = crc32(sum, reinterpret_cast<const Bytef*>(piece.data()), static_cast<uInt>(piece.size()));
        const std::uint64_t begin = std::max(at, from), end = std::min(at + piece.size(), from + size);
        if (begin < end) std::memcpy(out + (begin - from), piece.data() + (begin - at), end - begin);
    }
    if (sum != *run.crc) {
        return bad_input("{} is damaged: the checksum of its {} bytes from {} does not fit", run.path.string(),
                         run.bytes, run.begin);
    }
    run.checked = true;
    return {};
}

std::int64_t StoredTensor::elements() const { return product(shape); }

std::uint64_t StoredTensor::bytes() const {
    return static_cast<std::uint64_t>(elements()) * dtype_bytes(dtype).value_or(0);
}

bool possible_shape(const Sizes& shape, std::string_view dtype) {
    if (shape.size() > most_dimensions) return false;
    std::int64_t product = static_cast<std::int64_t>(dtype_bytes(dtype).value_or(1));
    // Sizes of 0 count as 1 on the way, since torch multiplies them so for strides.
    return std::all_of(shape.begin(), shape.end(), [&](std::int64_t size) {
        return size >= 0 && !__builtin_mul_overflow(product, std::max<std::int64_t>(size, 1), &product);
    });
}

namespace {

Result<void> check_part(const StoredPart& part, const StoredTensor& tensor) {
    const auto damaged = [&](std::string_view why) {
        return bad_input("{}: a part of tensor {} {}; the checkpoint is damaged", part.bytes->path.string(),
                         tensor.name, why);
    };
    if (part.offsets.size() != tensor.boxes.size() || part.sizes.size() != tensor.boxes.size())
        return damaged("has another number of dimensions");
    for (std::size_t d = 0; d < tensor.boxes.size(); ++d) {
        if (part.offsets[d] < 0 || part.sizes[d] < 0 || part.offsets[d] > tensor.boxes[d] ||
            part.sizes[d] > tensor.boxes[d] - part.offsets[d])
            return damaged("lies outside of it");
    }
    const std::uint64_t element = *dtype_bytes(tensor.dtype);
    const auto elements = static_cast<std::uint64_t>(product(part.sizes));
    if (elements * element > part.bytes->bytes) return damaged("has more values than there are bytes");
    if (part.archive || elements == 0) return {};
    // The last element's place, without leaving 64 bits.
    std::int64_t last = part.first;
    for (std::size_t d = 0; d < part.sizes.size(); ++d) {
        std::int64_t way = 0;
        if (part.strides[d] < 0 || __builtin_mul_overflow(part.sizes[d] - 1, part.strides[d], &way) ||
            __builtin_add_overflow(last, way, &last))
            return damaged("has steps that lead out of its storage");
    }
    if (part.first < 0 || static_cast<std::uint64_t>(last) >= part.bytes->bytes / element)
        return damaged("ends behind its storage");
    return {};
}

bool overlap(const StoredPart& a, const StoredPart& b) {
    for (std::size_t d = 0; d < a.sizes.size(); ++d) {
        if (a.offsets[d] + a.sizes[d] <= b.offsets[d] || b.offsets[d] + b.sizes[d] <= a.offsets[d]) return false;
    }
    return true;
}

}  // namespace

Result<void> check_parts(const StoredTensor& tensor) {
    if (!dtype_bytes(tensor.dtype) || !possible_shape(tensor.shape, tensor.dtype) ||
        !possible_shape(tensor.boxes, tensor.dtype))
        return bad_input("tensor {} has a shape or a dtype that cannot be; the checkpoint is damaged", tensor.name);
    std::vector<const StoredPart*> parts;
    std::int64_t covered = 0;
    for (const StoredPart& part : tensor.parts) {
        if (auto fits = check_part(part, tensor); !fits) return fits;
        if (product(part.sizes) > 0) parts.push_back(&part);
        // Each box lies in the tensor, so that as many boxes as memory holds do not leave 64 bits before this is seen.
        if (__builtin_add_overflow(covered, product(part.sizes), &covered)) covered = -1;
        if (covered < 0 || covered > tensor.elements())
            return bad_input("the parts of tensor {} overlap; the checkpoint is damaged", tensor.name);
    }
    if (covered != tensor.elements())
        return bad_input("{} of the {} values of tensor {} are there; the checkpoint is not whole", covered,
                         tensor.elements(), tensor.name);
    // As many values as there are places: a hole is where two overlap.
    const auto along = [](const StoredPart* a, const StoredPart* b) {
        return std::lexicographical_compare(a->offsets.begin(), a->offsets.end(), b->offsets.begin(), b->offsets.end());
    };
    std::sort(parts.begin(), parts.end(), along);
    std::uint64_t comparisons = 0;
    for (std::size_t i = 0; i < parts.size() && !tensor.boxes.empty(); ++i) {
        const std::int64_t end = parts[i]->offsets[0] + parts[i]->sizes[0];
        for (std::size_t j = i + 1; j < parts.size() && parts[j]->offsets[0] < end; ++j) {
            if (overlap(*parts[i], *parts[j]))
                return bad_input("two parts of tensor {} overlap; the checkpoint is damaged", tensor.name);
            if (++comparisons > most_comparisons)
                return bad_input("tensor {} is in too many parts ({}) to be checked", tensor.name, parts.size());
        }
    }
    return {};
}

Result<void> read_values(const StoredTensor& tensor, void* out) {
    const std::uint64_t element = *dtype_bytes(tensor.dtype);
    const Sizes strides = row_major(tensor.boxes);
    std::string values;
    for (const StoredPart& each : tensor.parts) {
        if (product(each.sizes) == 0) continue;
        PLIMSOLL_TRY(const auto part, opened(each, tensor));
        std::int64_t place = 0;
        for (std::size_t d = 0; d < strides.size(); ++d) place += part.offsets[d] * strides[d];
        char* const target = static_cast<char*>(out) + static_cast<std::uint64_t>(place) * element;
        const std::uint64_t from = static_cast<std::uint64_t>(part.first) * element;
        const std::uint64_t size = static_cast<std::uint64_t>(end_of(part) - part.first) * element;
        const bool dense = part.strides == row_major(part.sizes);
        if (dense && product(part.sizes) == tensor.elements()) {
            if (auto read = read_bytes(*part.bytes, from, size, target); !read) return read;
            continue;
        }
        values.resize(size);
        if (auto read = read_bytes(*part.bytes, from, size, values.data()); !read) return read;
        BoxCopy(part.sizes, part.strides, strides, element).copy(values.data(), target);
    }
    return {};
}

std::optional<std::int64_t> whole_number(const StoredTensor& tensor) {
    std::array<char, 8> bytes{};
    if (tensor.elements() != 1 || tensor.bytes() > bytes.size() || !read_values(tensor, bytes.data()))
        return std::nullopt;
    const auto as = [&](auto number) {
        std::memcpy(&number, bytes.data(), sizeof number);
        return number;
    };
    if (tensor.dtype == "I64") return as(std::int64_t{});
    if (tensor.dtype == "I32") return as(std::int32_t{});
    const double real = tensor.dtype == "F32" ? as(float{}) : tensor.dtype == "F64" ? as(double{}) : 0.5;
    // Beyond 2^53 a double is no count.
    if (std::abs(real) > 0x1p53 || real != std::floor(real)) return std::nullopt;
    return static_cast<std::int64_t>(real);
}

}  // namespace plimsoll
