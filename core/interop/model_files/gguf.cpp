// SPDX-License-Identifier: Apache-2.0
#include "core/interop/model_files/gguf.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include "core/base/file_io.h"

namespace plimsoll {

namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

/// Header, metadata and tensor list. The largest vocabularies with their merges take some 20 MB.
constexpr std::uint64_t largest_head = 256 * MiB;
constexpr std::uint64_t most_keys = 100'000;
constexpr std::uint64_t most_tensors = 1'000'000;
constexpr std::uint64_t longest_name = 65'535;  ///< of keys by the format; a tensor's has 64 bytes at most
constexpr std::uint64_t longest_text = 1 * MiB;
constexpr std::uint32_t most_dimensions = 4;
constexpr int deepest = 4;  ///< arrays in arrays

enum ValueType : std::uint32_t { U8, I8, U16, I16, U32, I32, F32, Bool, String, Array, U64, I64, F64 };

/// Bytes of a value; 0 for texts and arrays. Nothing for an unknown type.
std::optional<std::uint64_t> size_of(std::uint32_t type) {
    constexpr std::array<std::uint64_t, 13> sizes{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    if (type >= sizes.size()) return std::nullopt;
    return sizes[type];
}

/// Ends the reading; never leaves this file as an exception.
struct Refused {
    Error error;
};

/// Reads forwards, a block at a time; reads behind the end of the file or of the largest head are refused.
class Cursor {
public:
    Cursor(const FileReader& file, std::string what)
        : file_(file), what_(std::move(what)), end_(std::min<std::uint64_t>(file.size(), largest_head)) {}

    std::uint64_t at() const { return at_; }
    std::uint64_t left() const { return end_ - at_; }
    std::uint64_t file_size() const { return file_.size(); }

    template <class... Args>
    [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
        throw Refused{{fmt::format("{}: {}", what_, fmt::format(format, std::forward<Args>(args)...))}};
    }

    /// Refuses the file where fewer than `size` bytes are left for `part`.
    void need(std::uint64_t size, std::string_view part) const {
        if (size <= left()) return;
        if (end_ < file_.size()) refuse("its metadata takes more than {}; the file is damaged", format_bytes(end_));
        refuse("the file is cut short or damaged: {} needs {} bytes at byte {}, and {} are left", part, size, at_,
               left());
    }

    template <class Number>
    Number number(std::string_view part) {
        need(sizeof(Number), part);
        Number value;
        std::memcpy(&value, bytes(sizeof value), sizeof value);
        at_ += sizeof value;
        return value;
    }

    std::string text(std::uint64_t longest, std::string_view part) {
        const auto length = number<std::uint64_t>(part);
        if (length > longest) refuse("{} is {} bytes long, at most {} are allowed", part, length, longest);
        need(length, part);
        std::string value(length, '\0');
        for (std::uint64_t done = 0; done < length;) {
            const std::uint64_t size = std::min<std::uint64_t>(length - done, block);
            std::memcpy(value.data() + done, bytes(size), size);
            at_ += size;
            done += size;
        }
        if (!valid_utf8(value)) refuse("{} is no UTF-8 text", part);
        return value;
    }

    void skip(std::uint64_t size, std::string_view part) {
        need(size, part);
        at_ += size;
    }

private:
    static constexpr std::uint64_t block = 64 * KiB;

    /// The next bytes, `block` at most, after need() has found that they exist.
    const char* bytes(std::uint64_t size) {
        if (at_ < from_ || at_ + size > from_ + kept_.size()) {
            kept_.resize(std::min<std::uint64_t>(left(), block));
            from_ = at_;
            if (auto read = file_.read(kept_.data(), kept_.size(), at_); !read) throw Refused{read.error()};
        }
        return kept_.data() + (at_ - from_);
    }

    const FileReader& file_;
    std::string what_;
    std::uint64_t end_;
    std::uint64_t at_ = 0;
    std::string kept_;
    std::uint64_t from_ = 0;
};

/// The double with the same shortest digits: 1e-5, not 9.9999997e-06.
double widened(float value) {
    if (!std::isfinite(value)) return value;
    const std::string digits = fmt::format("{}", value);
    double wide = value;
    std::from_chars(digits.data(), digits.data() + digits.size(), wide);
    return wide;
}

Json scalar(Cursor& cursor, std::uint32_t type, const std::string& key) {
    switch (type) {
        case U8:
            return cursor.number<std::uint8_t>(key);
        case I8:
            return cursor.number<std::int8_t>(key);
        case U16:
            return cursor.number<std::uint16_t>(key);
        case I16:
            return cursor.number<std::int16_t>(key);
        case U32:
            return cursor.number<std::uint32_t>(key);
        case I32:
            return cursor.number<std::int32_t>(key);
        case U64:
            return cursor.number<std::uint64_t>(key);
        case I64:
            return cursor.number<std::int64_t>(key);
        case F32:
            return widened(cursor.number<float>(key));
        case F64:
            return cursor.number<double>(key);
        default:
            break;
    }
    const auto flag = cursor.number<std::uint8_t>(key);
    if (flag > 1) cursor.refuse("{} is {}; a flag is 0 or 1: the file is damaged", key, flag);
    return flag == 1;
}

/// Passes over an array; gives its length.
std::uint64_t skip_array(Cursor& cursor, const std::string& key, int depth) {
    if (depth > deepest) cursor.refuse("{} has arrays in arrays, deeper than {}", key, deepest);
    const auto type = cursor.number<std::uint32_t>(key);
    const auto count = cursor.number<std::uint64_t>(key);
    const auto size = size_of(type);
    if (!size) cursor.refuse("{} is an array of type {}, which the format has not; the file is damaged", key, type);
    // An array begins with a type and a count, a text with a length.
    const std::uint64_t least = *size > 0 ? *size : type == Array ? 12 : 8;
    if (count > cursor.left() / least) cursor.need(std::numeric_limits<std::uint64_t>::max(), key);
    if (*size > 0) {
        cursor.skip(count * *size, key);
        return count;
    }
    for (std::uint64_t i = 0; i < count; ++i) {
        if (type == Array)
            skip_array(cursor, key, depth + 1);
        else
            cursor.skip(cursor.number<std::uint64_t>(key), key);
    }
    return count;
}

void read_value(Cursor& cursor, GgufFile& file) {
    const std::string key = cursor.text(longest_name, "a key");
    const auto type = cursor.number<std::uint32_t>(key);
    if (!size_of(type)) cursor.refuse("{} has type {}, which the format has not; the file is damaged", key, type);
    if (file.values.contains(key) || file.array_lengths.contains(key)) cursor.refuse("{} stands twice", key);
    if (type == Array)
        file.array_lengths[key] = skip_array(cursor, key, 1);
    else
        file.values[key] = type == String ? Json(cursor.text(longest_text, key)) : scalar(cursor, type, key);
}

GgufTensor read_tensor(Cursor& cursor) {
    GgufTensor tensor;
    tensor.name = cursor.text(longest_name, "the name of a tensor");
    const auto dimensions = cursor.number<std::uint32_t>(tensor.name);
    if (dimensions > most_dimensions)
        cursor.refuse("tensor {} has {} dimensions, {} at most are allowed", tensor.name, dimensions, most_dimensions);
    tensor.elements = 1;
    for (std::uint32_t i = 0; i < dimensions; ++i) {
        const auto size = cursor.number<std::uint64_t>(tensor.name);
        if (size > std::numeric_limits<std::int64_t>::max() ||
            __builtin_mul_overflow(tensor.elements, static_cast<std::int64_t>(size), &tensor.elements))
            cursor.refuse("tensor {} has more elements than 64 bits can count", tensor.name);
        tensor.shape.push_back(static_cast<std::int64_t>(size));
    }
    tensor.type = cursor.number<std::uint32_t>(tensor.name);
    tensor.offset = cursor.number<std::uint64_t>(tensor.name);
    return tensor;
}

/// Start of the tensor data: the next multiple of general.alignment.
std::uint64_t data_start(const Cursor& cursor, const GgufFile& file) {
    std::uint64_t alignment = 32;
    if (const auto found = file.values.find("general.alignment"); found != file.values.end()) {
        if (!found->second.is_number_unsigned() || !std::has_single_bit(found->second.get<std::uint64_t>()) ||
            found->second > Json(1 * MiB))
            cursor.refuse("general.alignment is {}; a power of two is needed", shown(found->second));
        alignment = found->second.get<std::uint64_t>();
    }
    return (cursor.at() + alignment - 1) / alignment * alignment;
}

void check_places(const Cursor& cursor, const GgufFile& file) {
    if (file.tensors.empty()) return;
    const std::uint64_t start = data_start(cursor, file);
    const std::uint64_t data = cursor.file_size() > start ? cursor.file_size() - start : 0;
    for (const GgufTensor& tensor : file.tensors) {
        const auto bytes = static_cast<std::uint64_t>(gguf_bytes(tensor.type, tensor.elements).value_or(0));
        if (tensor.offset > data || bytes > data - tensor.offset)
            cursor.refuse(
                "the file is cut short or damaged: tensor {} has {} bytes from byte {} of the data, which has {}",
                tensor.name, bytes, tensor.offset, data);
    }
}

GgufFile read_head(Cursor& cursor) {
    std::array<char, 4> magic{};
    if (cursor.left() >= magic.size())
        for (char& letter : magic) letter = cursor.number<char>("the file");
    if (std::string_view(magic.data(), magic.size()) != "GGUF")
        cursor.refuse("this is no GGUF file: it does not begin with the letters GGUF");
    GgufFile file;
    const auto version = cursor.number<std::uint32_t>("the version");
    if (version == 0x02000000 || version == 0x03000000)
        cursor.refuse("the file is big-endian; convert it with gguf_convert_endian.py of llama.cpp");
    if (version != 2 && version != 3)
        cursor.refuse("version {} of GGUF is not supported, 2 and 3 are; convert the model again", version);
    file.version = static_cast<int>(version);
    const auto tensors = cursor.number<std::uint64_t>("the number of tensors");
    const auto keys = cursor.number<std::uint64_t>("the number of keys");
    if (keys > most_keys || tensors > most_tensors)
        cursor.refuse("it would have {} keys and {} tensors ({} and {} at most are allowed); the file is damaged", keys,
                      tensors, most_keys, most_tensors);
    for (std::uint64_t i = 0; i < keys; ++i) read_value(cursor, file);
    std::set<std::string> names;
    for (std::uint64_t i = 0; i < tensors; ++i) {
        file.tensors.push_back(read_tensor(cursor));
        if (!names.insert(file.tensors.back().name).second)
            cursor.refuse("two tensors are named {}; the file is damaged", file.tensors.back().name);
    }
    return file;
}

}  // namespace

const GgufTensor* GgufFile::find(const std::string& name) const {
    const auto found =
        std::find_if(tensors.begin(), tensors.end(), [&](const auto& each) { return each.name == name; });
    return found == tensors.end() ? nullptr : &*found;
}

Result<GgufFile> read_gguf(const std::filesystem::path& path) {
    PLIMSOLL_TRY(const auto file, FileReader::open(path));
    Cursor cursor(file, path.string());
    try {
        GgufFile head = read_head(cursor);
        check_places(cursor, head);
        return head;
    } catch (const Refused& refused) {
        return tl::unexpected(refused.error);
    }
}

std::optional<Bytes> gguf_bytes(std::uint32_t type, std::int64_t elements) {
    /// Elements and bytes of a block (gguf-py/gguf/constants.py of llama.cpp, GGML_QUANT_SIZES).
    struct Block {
        std::uint32_t type;
        std::int64_t elements;
        Bytes bytes;
    };
    constexpr std::array blocks{
        Block{0, 1, 4},      Block{1, 1, 2},      Block{2, 32, 18},    Block{3, 32, 20},    Block{6, 32, 22},
        Block{7, 32, 24},    Block{8, 32, 34},    Block{10, 256, 84},  Block{11, 256, 110}, Block{12, 256, 144},
        Block{13, 256, 176}, Block{14, 256, 210}, Block{15, 256, 292}, Block{16, 256, 66},  Block{17, 256, 74},
        Block{18, 256, 98},  Block{19, 256, 50},  Block{20, 32, 18},   Block{21, 256, 110}, Block{22, 256, 82},
        Block{23, 256, 136}, Block{24, 1, 1},     Block{25, 1, 2},     Block{26, 1, 4},     Block{27, 1, 8},
        Block{28, 1, 8},     Block{29, 256, 56},  Block{30, 1, 2},     Block{34, 256, 54},  Block{35, 256, 66},
        Block{39, 32, 17},   Block{40, 64, 36},   Block{41, 128, 18}};
    const auto found =
        std::find_if(blocks.begin(), blocks.end(), [&](const Block& block) { return block.type == type; });
    Bytes bytes = 0;
    if (found == blocks.end() || elements % found->elements != 0) return std::nullopt;
    if (__builtin_mul_overflow(elements / found->elements, found->bytes, &bytes)) return std::nullopt;
    return bytes;
}

}  // namespace plimsoll
