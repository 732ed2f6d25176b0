// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/torch_file.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/base/json.h"
#include "core/base/units.h"
#include "core/checkpoint/zip_directory.h"

namespace plimsoll {

namespace {

constexpr std::uint64_t largest_pickle = 512 * MiB;
constexpr int deepest = 16;
constexpr std::size_t most_tensors = 1'000'000;
/// Values that are walked through, and letters of their names: dicts that hold each other would never end.
constexpr std::size_t most_visits = 2'000'000;
constexpr std::size_t most_letters = 64'000'000;

struct TorchDtype {
    std::string_view global, storage, name;
    std::uint64_t bytes;
};

/// dtypes, the storage classes that stand for them (torch/storage.py), safetensors' names.
constexpr std::array dtypes{
    TorchDtype{"torch.float32", "torch.FloatStorage", "F32", 4},
    TorchDtype{"torch.float64", "torch.DoubleStorage", "F64", 8},
    TorchDtype{"torch.float16", "torch.HalfStorage", "F16", 2},
    TorchDtype{"torch.bfloat16", "torch.BFloat16Storage", "BF16", 2},
    TorchDtype{"torch.int64", "torch.LongStorage", "I64", 8},
    TorchDtype{"torch.int32", "torch.IntStorage", "I32", 4},
    TorchDtype{"torch.int16", "torch.ShortStorage", "I16", 2},
    TorchDtype{"torch.int8", "torch.CharStorage", "I8", 1},
    TorchDtype{"torch.uint8", "torch.ByteStorage", "U8", 1},
    TorchDtype{"torch.bool", "torch.BoolStorage", "BOOL", 1},
    TorchDtype{"torch.complex64", "torch.ComplexFloatStorage", "C64", 8},
    TorchDtype{"torch.uint16", "", "U16", 2},
    TorchDtype{"torch.uint32", "", "U32", 4},
    TorchDtype{"torch.uint64", "", "U64", 8},
    TorchDtype{"torch.float8_e4m3fn", "", "F8_E4M3", 1},
    TorchDtype{"torch.float8_e5m2", "", "F8_E5M2", 1},
};

/// torch.save before 1.6 began with this number, pickled by protocol 2; tar files are older still.
constexpr std::string_view old_magic{"\x80\x02\x8A\x0A\x6C\xFC\x9C\x46\xF9\x20\x6A\xA8\x50\x19", 14};

Result<std::string> read_record(const StoredBytes& record, std::uint64_t limit, const std::string& what) {
    if (record.bytes > limit)
        return bad_input("{} has {} of metadata, which is too much", what,
                         format_bytes(static_cast<Bytes>(record.bytes)));
    std::string text(record.bytes, '\0');
    PLIMSOLL_CHECK(read_bytes(record, 0, text.size(), text.data()));
    return text;
}

}  // namespace

std::optional<std::uint64_t> dtype_bytes(std::string_view dtype) {
    const auto found =
        std::find_if(dtypes.begin(), dtypes.end(), [&](const TorchDtype& each) { return each.name == dtype; });
    return found == dtypes.end() ? std::nullopt : std::optional(found->bytes);
}

std::string_view dtype_of_torch(std::string_view global) {
    const auto found =
        std::find_if(dtypes.begin(), dtypes.end(), [&](const TorchDtype& each) { return each.global == global; });
    return found == dtypes.end() ? std::string_view() : found->name;
}

Result<TorchFile> TorchFile::open(const std::filesystem::path& path) {
    PLIMSOLL_TRY(const auto file, FileReader::open(path));
    std::array<char, old_magic.size()> begin{};
    if (file.size() >= begin.size()) {
        PLIMSOLL_CHECK(file.read(begin.data(), begin.size(), 0));
        if (std::string_view(begin.data(), begin.size()) == old_magic) {
            return bad_input(
                "{} is in the format that torch.save wrote before PyTorch 1.6; load it and save it again with a current PyTorch",
                path.string());
        }
    }
    return open(path, 0, file.size());
}

Result<TorchFile> TorchFile::open(const std::filesystem::path& path, std::uint64_t begin, std::uint64_t bytes) {
    PLIMSOLL_TRY(const auto file, FileReader::open(path));
    const std::string what = path.string();
    PLIMSOLL_TRY(const auto entries, read_zip_directory(file, begin, bytes, what));
    // torch.serialization.set_crc32_options(False) writes 0 for every one.
    const bool summed = std::any_of(entries.begin(), entries.end(), [](const ZipEntry& each) { return each.crc != 0; });
    TorchFile torch;
    torch.path_ = path;
    for (const ZipEntry& entry : entries) {
        const auto slash = entry.name.find('/');
        if (slash == std::string::npos) continue;
        auto record = std::make_shared<StoredBytes>();
        *record = {path, entry.begin, entry.bytes, summed ? std::optional(entry.crc) : std::nullopt};
        if (!torch.records_.emplace(entry.name.substr(slash + 1), std::move(record)).second)
            return bad_input("{} is damaged: {} is in it twice", what, entry.name);
    }
    if (const auto order = torch.records_.find("byteorder"); order != torch.records_.end()) {
        PLIMSOLL_TRY(const auto text, read_record(*order->second, 64, what));
        if (text != "little")
            return bad_input("{} was written on a big-endian machine; save it again on another", what);
    }
    const auto data = torch.records_.find("data.pkl");
    if (data == torch.records_.end()) {
        return bad_input("{} is a zip archive without data.pkl; what torch.save wrote is needed{}", what,
                         torch.records_.contains("constants.pkl") ? ", not TorchScript" : "");
    }
    PLIMSOLL_TRY(auto text, read_record(*data->second, largest_pickle, what));
    PLIMSOLL_TRY(auto pickle, Pickle::parse(std::move(text), what));
    torch.pickle_ = std::move(pickle);
    return torch;
}

Result<TorchFile::Storage> TorchFile::storage(PickleId persistent, const std::string& name) const {
    // ("storage", torch.FloatStorage, key, place, elements)
    const PickleNode& node = pickle_[persistent];
    const auto damaged = [&] {
        return bad_input("{}: tensor {} names no storage; the file is damaged", path_.string(), name);
    };
    if (node.kind != PickleNode::Kind::Persistent) return damaged();
    const auto id = pickle_.elements(node.items[0]);
    if (id.size() < 5 || pickle_.text(id[0]) != "storage" || !pickle_.text(id[2]) ||
        pickle_[id[1]].kind != PickleNode::Kind::Global)
        return damaged();
    Storage storage;
    const std::string_view kind = pickle_[id[1]].text;
    const auto known =
        std::find_if(dtypes.begin(), dtypes.end(), [&](const TorchDtype& each) { return each.storage == kind; });
    if (known != dtypes.end()) {
        storage.dtype = known->name;
    } else if (kind != "torch.storage.UntypedStorage") {
        return bad_input("{}: tensor {} is of {}, which cannot be read; save it as float32, float16 or bfloat16",
                         path_.string(), name, kind);
    }
    const auto record = records_.find(fmt::format("data/{}", *pickle_.text(id[2])));
    if (record == records_.end()) {
        return bad_input("{}: the storage of tensor {} is missing; the file is damaged", path_.string(), name);
    }
    storage.bytes = record->second;
    return storage;
}

Result<std::optional<StoredTensor>> TorchFile::tensor(PickleId value, const std::string& name) const {
    const auto refuse = [&](std::string_view why) { return bad_input("{}: tensor {} {}", path_.string(), name, why); };
    const auto arguments_of = [&](PickleId call) { return pickle_.elements(pickle_[call].arguments); };
    // A parameter and a tensor with attributes are calls around the tensor's own.
    for (const char* wrapper : {"torch._utils._rebuild_parameter", "torch._utils._rebuild_parameter_with_state"}) {
        if (!pickle_.is_call(value, wrapper)) continue;
        const auto arguments = arguments_of(value);
        if (arguments.empty()) return refuse("is an empty parameter; the file is damaged");
        value = arguments[0];
        break;
    }
    std::span<const PickleId> arguments;
    bool third_form = pickle_.is_call(value, "torch._utils._rebuild_tensor_v3");
    if (third_form || pickle_.is_call(value, "torch._utils._rebuild_tensor_v2")) {
        arguments = arguments_of(value);
    } else if (pickle_.is_call(value, "torch._tensor._rebuild_from_type_v2")) {
        // (rebuild, type, its arguments, attributes)
        const auto outer = arguments_of(value);
        const bool whole = outer.size() >= 3 && pickle_[outer[0]].kind == PickleNode::Kind::Global;
        const std::string_view rebuild = whole ? pickle_[outer[0]].text : "";
        third_form = rebuild == "torch._utils._rebuild_tensor_v3";
        if (!third_form && rebuild != "torch._utils._rebuild_tensor_v2")
            return refuse("is of a class that cannot be read");
        arguments = pickle_.elements(outer[2]);
    } else {
        const PickleNode& node = pickle_[value];
        const bool is_call =
            node.kind == PickleNode::Kind::Call && pickle_[node.callable].kind == PickleNode::Kind::Global;
        const std::string_view callable = is_call ? std::string_view(pickle_[node.callable].text) : "";
        if (callable.starts_with("torch._utils._rebuild_") || callable == "torch.distributed.tensor.DTensor")
            return refuse(fmt::format("is made by {}, which cannot be read; save plain whole tensors", callable));
        return std::optional<StoredTensor>();
    }
    // (storage, offset, size, stride, requires_grad, hooks[, dtype])
    if (arguments.size() < (third_form ? 7U : 4U)) return refuse("lacks its shape; the file is damaged");
    PLIMSOLL_TRY(const auto stored, storage(arguments[0], name));
    StoredTensor tensor;
    tensor.name = name;
    tensor.dtype = stored.dtype;
    if (third_form && pickle_[arguments[6]].kind == PickleNode::Kind::Global)
        tensor.dtype = dtype_of_torch(pickle_[arguments[6]].text);
    if (tensor.dtype.empty()) return refuse("has a dtype that cannot be read; save it as float32, float16 or bfloat16");
    const auto first = pickle_.integer(arguments[1]);
    auto sizes = pickle_.integers(arguments[2]), strides = pickle_.integers(arguments[3]);
    if (!first || !sizes || !strides || sizes->size() != strides->size())
        return refuse("has no shape; the file is damaged");
    tensor.shape = tensor.boxes = *sizes;
    tensor.parts.push_back(
        {std::vector<std::int64_t>(sizes->size()), *sizes, stored.bytes, false, *first, *std::move(strides)});
    PLIMSOLL_CHECK(check_parts(tensor));
    return std::optional(std::move(tensor));
}

Result<std::vector<StoredTensor>> TorchFile::tensors(PickleId dict) const {
    struct Open {
        PickleId dict;
        std::string prefix;
        int depth;
    };
    std::vector<StoredTensor> found;
    std::vector<Open> open{{dict, "", 0}};
    std::size_t visits = 0, letters = 0;
    while (!open.empty()) {
        const Open at = std::move(open.back());
        open.pop_back();
        std::vector<Open> inner;
        const auto entries = pickle_.entries(at.dict);
        for (std::size_t i = 0; i + 1 < entries.size(); i += 2) {
            if (++visits > most_visits || letters > most_letters || found.size() > most_tensors)
                return bad_input("{} has more values than a checkpoint could have; it is damaged", path_.string());
            const PickleNode& key = pickle_[entries[i]];
            const bool numbered = key.kind == PickleNode::Kind::Int;
            if (key.kind != PickleNode::Kind::Text && !numbered) continue;
            if (!valid_utf8(key.text)) return bad_input("{}: the name of a tensor is not UTF-8 text", path_.string());
            std::string name = at.prefix + (numbered ? fmt::format("{}", key.integer) : std::string(key.text));
            letters += name.size();
            PLIMSOLL_TRY(auto each, tensor(entries[i + 1], name));
            if (each)
                found.push_back(std::move(*each));
            else if (at.depth < deepest && pickle_[entries[i + 1]].kind != PickleNode::Kind::Text)
                inner.push_back({entries[i + 1], name + ".", at.depth + 1});
        }
        open.insert(open.end(), std::make_move_iterator(inner.rbegin()), std::make_move_iterator(inner.rend()));
    }
    return found;
}

std::optional<std::int64_t> TorchFile::number(PickleId value) const {
    if (const auto number = pickle_.integer(value)) return number;
    const auto held = tensor(value, "number");
    if (!held || !*held || (*held)->elements() != 1) return std::nullopt;
    return whole_number(**held);
}

}  // namespace plimsoll
