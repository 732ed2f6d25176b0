// SPDX-License-Identifier: Apache-2.0
// pytorch_model.bin, whole or in shards, and other files of torch.save that hold a model.
#include <set>

#include "core/base/json.h"
#include "core/checkpoint/checkpoint_kinds.h"
#include "core/checkpoint/torch_file.h"

namespace plimsoll {

namespace fs = std::filesystem;

namespace {

Result<void> add_file(const fs::path& path, StoredCheckpoint& checkpoint) {
    PLIMSOLL_TRY(const auto file, TorchFile::open(path));
    PLIMSOLL_TRY(auto tensors, file.tensors(file.pickle().root()));
    if (tensors.empty()) return bad_input("{} holds no tensors: the state_dict of a model is needed", path.string());
    for (StoredTensor& each : tensors) sort_in(std::move(each), checkpoint);
    for (const char* key : {"step", "global_step", "iteration"}) {
        const auto value = file.pickle().find(file.pickle().root(), key);
        if (value && !checkpoint.step) checkpoint.step = file.number(*value);
    }
    ++checkpoint.files;
    return {};
}

}  // namespace

Result<StoredCheckpoint> open_torch_file(const fs::path& path) {
    StoredCheckpoint checkpoint;
    checkpoint.kind = CheckpointKind::TorchFile;
    checkpoint.path = path;
    PLIMSOLL_CHECK(add_file(path, checkpoint));
    return checkpoint;
}

Result<StoredCheckpoint> open_torch_shards(const fs::path& folder) {
    const fs::path index_path = folder / "pytorch_model.bin.index.json";
    PLIMSOLL_TRY(const auto index, read_json(index_path, 64 * MiB));
    const auto map = index.is_object() ? index.find("weight_map") : index.end();
    if (map == index.end() || !map->is_object() || map->empty())
        return bad_input("{} has no weight_map; it is no index", index_path.string());
    std::set<std::string> files;
    for (const auto& [tensor, file] : map->items()) {
        if (!file.is_string() || !is_plain_name(file.get<std::string>()))
            return bad_input("{} puts {} into a file that is not in the folder", index_path.string(), tensor);
        files.insert(file.get<std::string>());
    }
    StoredCheckpoint checkpoint;
    checkpoint.kind = CheckpointKind::TorchShards;
    checkpoint.path = folder;
    for (const std::string& file : files) {
        PLIMSOLL_CHECK(add_file(folder / file, checkpoint));
    }
    std::set<std::string_view> found;
    for (const StoredTensor& tensor : checkpoint.weights) {
        if (!found.insert(tensor.name).second)
            return bad_input("{}: tensor {} is in two files; files of two models are mixed", folder.string(),
                             tensor.name);
    }
    for (const auto& [tensor, file] : map->items()) {
        if (!found.contains(tensor))
            return bad_input("{}: no file has tensor {} of the index; files of two models are mixed", folder.string(),
                             tensor);
    }
    return checkpoint;
}

}  // namespace plimsoll
