// SPDX-License-Identifier: Apache-2.0
// torch.distributed.checkpoint (FSDP, torchtitan, Accelerate): torch/distributed/checkpoint/metadata.py and
// filesystem.py. The file .metadata is a pickle of what there is, cut into which boxes, and where each box lies; a box
// is a file of its own as torch.save writes it, among others in __RANK_N.distcp.
#include <algorithm>
#include <map>
#include <unordered_map>

#include "core/base/file.h"
#include "core/base/file_io.h"
#include "core/base/json.h"
#include "core/checkpoint/checkpoint_kinds.h"
#include "core/checkpoint/torch_file.h"

namespace plimsoll {

namespace fs = std::filesystem;

namespace {

constexpr Bytes largest_metadata = 512 * MiB;
constexpr std::string_view metadata_class = "torch.distributed.checkpoint.metadata.";

using ChunkSizes = std::vector<std::int64_t>;

/// Where the pieces of one tensor lie, by the place of their first element.
using Pieces = std::map<ChunkSizes, std::shared_ptr<const StoredBytes>>;

class DistributedReader {
public:
    DistributedReader(const fs::path& folder, const Pickle& pickle)
        : folder_(folder), what_((folder / ".metadata").string()), pickle_(pickle) {}

    Result<StoredCheckpoint> read() {
        const auto tensors = pickle_.find(pickle_.root(), "state_dict_metadata");
        const auto places = pickle_.find(pickle_.root(), "storage_data");
        if (!pickle_.is_call(pickle_.root(), fmt::format("{}Metadata", metadata_class)) || !tensors || !places)
            return bad_input("{} is no metadata of torch.distributed.checkpoint", what_);
        PLIMSOLL_CHECK(read_places(*places));
        const auto entries = pickle_.entries(*tensors);
        for (std::size_t i = 0; i + 1 < entries.size(); i += 2) {
            PLIMSOLL_CHECK(read_entry(entries[i], entries[i + 1]));
        }
        checkpoint_.kind = CheckpointKind::Distributed;
        checkpoint_.path = folder_;
        checkpoint_.files = sizes_.size();
        return std::move(checkpoint_);
    }

private:
    template <class... Args>
    tl::unexpected<Error> damaged(fmt::format_string<Args...> format, Args&&... args) const {
        return bad_input("{}: {}; the checkpoint is damaged", what_, fmt::format(format, std::forward<Args>(args)...));
    }

    Result<std::uint64_t> size_of(const std::string& name) {
        const auto known = sizes_.find(name);
        if (known != sizes_.end()) return known->second;
        if (!is_plain_name(name)) return damaged("it names the file {}, which is not in the folder", shown(Json(name)));
        PLIMSOLL_TRY(const auto file, FileReader::open(folder_ / name));
        return sizes_[name] = file.size();
    }

    /// storage_data: {MetadataIndex(fqn, offset): _StorageInfo(relative_path, offset, length)}
    Result<void> read_places(PickleId places) {
        const auto entries = pickle_.entries(places);
        for (std::size_t i = 0; i + 1 < entries.size(); i += 2) {
            const auto fqn = text_of(entries[i], "fqn"), path = text_of(entries[i + 1], "relative_path");
            const auto begin = number_of(entries[i + 1], "offset"), length = number_of(entries[i + 1], "length");
            if (!fqn || !path || !begin || !length || *begin < 0 || *length < 0) return damaged("a place is not whole");
            // Extensions (compression) name what they did to the bytes.
            const auto transforms = pickle_.find(entries[i + 1], "transform_descriptors");
            if (transforms && !pickle_.elements(*transforms).empty())
                return bad_input(
                    "{}: {} was written through an extension (compression); save the checkpoint without extensions",
                    what_, *fqn);
            PLIMSOLL_TRY(const auto size, size_of(std::string(*path)));
            const auto at = static_cast<std::uint64_t>(*begin), bytes = static_cast<std::uint64_t>(*length);
            if (at > size || bytes > size - at)
                return damaged("{} would have {} bytes from byte {} of {}, which has {}", *fqn, bytes, at, *path, size);
            // Each piece is an archive of its own, which is parsed where it is read.
            if (std::uint64_t& taken = taken_[std::string(*path)]; (taken += bytes) > size)
                return damaged("pieces of {} lie upon each other", *path);
            auto stored = std::make_shared<StoredBytes>();
            *stored = {folder_ / *path, at, bytes};
            const auto offset = pickle_.find(entries[i], "offset");
            pieces_[std::string(*fqn)][offset ? pickle_.integers(*offset).value_or(ChunkSizes()) : ChunkSizes()] =
                std::move(stored);
        }
        return {};
    }

    Result<void> read_entry(PickleId key, PickleId value) {
        const auto name = pickle_.text(key);
        if (!name || !valid_utf8(*name)) return damaged("a name is no text");
        if (pickle_.is_call(value, fmt::format("{}BytesStorageMetadata", metadata_class))) {
            read_object(std::string(*name));
            return {};
        }
        if (!pickle_.is_call(value, fmt::format("{}TensorStorageMetadata", metadata_class)))
            return damaged("{} is neither a tensor nor bytes", *name);
        PLIMSOLL_TRY(auto tensor, read_tensor(std::string(*name), value));
        if (is_step(tensor.name) && !checkpoint_.step) checkpoint_.step = whole_number(tensor);
        sort_in(std::move(tensor), checkpoint_);
        return {};
    }

    /// TensorStorageMetadata(properties, size, chunks)
    Result<StoredTensor> read_tensor(std::string name, PickleId value) {
        StoredTensor tensor;
        tensor.name = std::move(name);
        const auto properties = pickle_.find(value, "properties"), size = pickle_.find(value, "size"),
                   chunks = pickle_.find(value, "chunks");
        const auto shape = size ? pickle_.integers(*size) : std::nullopt;
        if (!properties || !shape || !chunks) return damaged("{} lacks its shape", tensor.name);
        tensor.shape = tensor.boxes = *shape;
        tensor.dtype = dtype_of_torch(dtype_in(*properties));
        if (tensor.dtype.empty()) {
            return bad_input("{}: {} has a dtype that cannot be read; save it as float32, float16 or bfloat16", what_,
                             tensor.name);
        }
        const auto pieces = pieces_.find(tensor.name);
        if (pieces == pieces_.end() && tensor.elements() > 0) return damaged("no file holds {}", tensor.name);
        for (const PickleId chunk : pickle_.elements(*chunks)) {
            const auto at = pickle_.find(chunk, "offsets"), extent = pickle_.find(chunk, "sizes");
            auto offsets = at ? pickle_.integers(*at) : std::nullopt,
                 sizes = extent ? pickle_.integers(*extent) : std::nullopt;
            if (!offsets || !sizes) return damaged("a part of {} has no place in it", tensor.name);
            // A rank with nothing of a tensor.
            if (std::find(sizes->begin(), sizes->end(), 0) != sizes->end()) continue;
            const auto piece = pieces == pieces_.end() ? Pieces::const_iterator() : pieces->second.find(*offsets);
            if (pieces == pieces_.end() || piece == pieces->second.end())
                return damaged("no file holds the part of {} at {}", tensor.name, fmt::join(*offsets, ", "));
            tensor.parts.push_back({*std::move(offsets), *std::move(sizes), piece->second, true, 0, {}});
        }
        PLIMSOLL_CHECK(check_parts(tensor));
        return tensor;
    }

    /// TensorProperties' state is a tuple that the dtype leads.
    std::string_view dtype_in(PickleId properties) const {
        const PickleId state = pickle_[properties].state;
        const auto parts = state != PickleNode::no_state ? pickle_.elements(state) : std::span<const PickleId>();
        return !parts.empty() && pickle_[parts[0]].kind == PickleNode::Kind::Global ? pickle_[parts[0]].text
                                                                                    : std::string_view();
    }

    static bool is_step(std::string_view name) {
        return name == "step" || name == "train_state.step" || name == "trainer.step" || name == "global_step";
    }

    /// What is no tensor was saved by torch.save as it is; of these the step is of interest.
    void read_object(const std::string& name) {
        if (!is_step(name) || checkpoint_.step || !pieces_.contains(name) || pieces_.at(name).empty()) return;
        const StoredBytes& bytes = *pieces_.at(name).begin()->second;
        const auto file = TorchFile::open(bytes.path, bytes.begin, bytes.bytes);
        if (file) checkpoint_.step = file->number(file->pickle().root());
    }

    std::optional<std::string_view> text_of(PickleId object, std::string_view key) const {
        const auto found = pickle_.find(object, key);
        return found ? pickle_.text(*found) : std::nullopt;
    }
    std::optional<std::int64_t> number_of(PickleId object, std::string_view key) const {
        const auto found = pickle_.find(object, key);
        return found ? pickle_.integer(*found) : std::nullopt;
    }

    fs::path folder_;
    std::string what_;
    const Pickle& pickle_;
    std::map<std::string, std::uint64_t, std::less<>> sizes_;
    std::unordered_map<std::string, Pieces> pieces_;
    std::map<std::string, std::uint64_t> taken_;  ///< bytes of each file
    StoredCheckpoint checkpoint_;
};

}  // namespace

Result<StoredCheckpoint> open_distributed(const fs::path& folder) {
    PLIMSOLL_TRY(auto text, read_file(folder / ".metadata", largest_metadata));
    PLIMSOLL_TRY(const auto pickle, Pickle::parse(std::move(text), (folder / ".metadata").string()));
    return DistributedReader(folder, pickle).read();
}

}  // namespace plimsoll
