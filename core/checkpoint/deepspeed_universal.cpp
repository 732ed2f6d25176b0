// SPDX-License-Identifier: Apache-2.0
// DeepSpeed's universal checkpoints, as deepspeed/checkpoint/ds_to_universal.py writes them: a folder
// zero/PARAMETER with fp32.pt and the optimizer's states, whole, each a tensor or a dict around one (under ZeRO-3 flat,
// its shape standing in the model states beside).
#include <algorithm>
#include <map>

#include "core/base/json.h"
#include "core/checkpoint/checkpoint_kinds.h"
#include "core/checkpoint/torch_file.h"

namespace plimsoll {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t most_parameters = 1'000'000;
constexpr std::string_view ending = ".pt";

Result<std::vector<std::string>> folders_in(const fs::path& folder) {
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
        if (it->is_directory(error)) names.push_back(it->path().filename().string());
        if (names.size() > most_parameters)
            return bad_input("{} has more folders than a model has parameters", folder.string());
    }
    if (error) return bad_input("cannot look into {}: {}", folder.string(), error.message());
    if (names.empty())
        return bad_input("{} has no folders of parameters; the checkpoint is not whole", folder.string());
    std::sort(names.begin(), names.end());
    return names;
}

class UniversalReader {
public:
    explicit UniversalReader(const fs::path& folder) : folder_(folder) {}

    Result<StoredCheckpoint> read() {
        checkpoint_.kind = CheckpointKind::DeepSpeedUniversal;
        checkpoint_.path = folder_;
        PLIMSOLL_CHECK(read_model_states());
        PLIMSOLL_TRY(const auto names, folders_in(folder_ / "zero"));
        for (const std::string& name : names) {
            if (!valid_utf8(name)) return bad_input("{}: the name of a folder is not UTF-8 text", folder_.string());
            for (const std::string& file : files_named(folder_ / "zero" / name, "", ending)) {
                PLIMSOLL_CHECK(read_state(name, file));
            }
        }
        for (const StoredTensor& each : checkpoint_.weights) shapes_.erase(each.name);
        if (!shapes_.empty())
            return bad_input("{} lacks zero/{}/fp32.pt; the checkpoint is not whole", folder_.string(),
                             shapes_.begin()->first);
        return std::move(checkpoint_);
    }

private:
    /// The step, and the shapes that flat tensors lack. A checkpoint may come without this file.
    Result<void> read_model_states() {
        std::vector<std::string> files = files_named(folder_, "mp_rank_", "_model_states.pt");
        if (files.empty()) files = files_named(folder_, "zero_pp_rank_0_mp_rank_", "_model_states.pt");
        if (files.empty()) return {};
        PLIMSOLL_TRY(const auto file, TorchFile::open(folder_ / files.front()));
        ++checkpoint_.files;
        const Pickle& pickle = file.pickle();
        if (const auto step = pickle.find(pickle.root(), "global_steps")) checkpoint_.step = file.number(*step);
        const auto found = pickle.find(pickle.root(), "param_shapes");
        // With tensor parallelism these are the shapes of one rank's parts.
        if (!found || files.size() > 1) return {};
        PLIMSOLL_TRY(const auto groups, param_shapes(pickle, *found, file.path().string()));
        for (const auto& group : groups) {
            for (const NamedShape& each : group) shapes_[each.name] = each.shape;
        }
        return {};
    }

    Result<void> read_state(const std::string& name, const std::string& file_name) {
        const std::string state = file_name.substr(0, file_name.size() - ending.size());
        PLIMSOLL_TRY(const auto file, TorchFile::open(folder_ / "zero" / name / file_name));
        ++checkpoint_.files;
        const PickleId root = file.pickle().root();
        if (state == "step") {
            if (!checkpoint_.step) checkpoint_.step = file.number(root);
            return {};
        }
        const auto inner = file.pickle().find(root, "param");
        PLIMSOLL_TRY(auto tensor, file.tensor(inner.value_or(root), name));
        if (!tensor) return bad_input("{} holds no tensor; the checkpoint is damaged", file.path().string());
        StoredTensor& found = *tensor;
        const auto shape = shapes_.find(name);
        if (shape != shapes_.end() && found.shape.size() == 1 && found.shape != shape->second) {
            found.shape = shape->second;
            if (!possible_shape(found.shape, found.dtype) || found.elements() != found.boxes[0])
                return bad_input("{} has {} values, which do not fill its shape; the checkpoint is damaged",
                                 file.path().string(), found.boxes[0]);
        }
        if (state == "fp32") {
            checkpoint_.weights.push_back(std::move(found));
            return {};
        }
        checkpoint_.state_names.insert(state);
        found.name = fmt::format("{}.{}", name, state);
        checkpoint_.states.push_back(std::move(found));
        return {};
    }

    fs::path folder_;
    std::map<std::string, std::vector<std::int64_t>> shapes_;
    StoredCheckpoint checkpoint_;
};

}  // namespace

Result<std::vector<std::vector<NamedShape>>> param_shapes(const Pickle& pickle, PickleId value,
                                                          const std::string& what) {
    std::vector<std::vector<NamedShape>> groups;
    for (const PickleId group : pickle.elements(value)) {
        std::vector<NamedShape> shapes;
        const auto entries = pickle.entries(group);
        for (std::size_t i = 0; i + 1 < entries.size(); i += 2) {
            const auto name = pickle.text(entries[i]);
            auto shape = pickle.integers(entries[i + 1]);
            if (!name || !valid_utf8(*name) || !shape || !possible_shape(*shape, "F64"))
                return bad_input("{}: param_shapes has no shapes; the checkpoint is damaged", what);
            shapes.push_back({std::string(*name), *std::move(shape)});
        }
        groups.push_back(std::move(shapes));
    }
    return groups;
}

Result<StoredCheckpoint> open_universal(const fs::path& folder) { return UniversalReader(folder).read(); }

}  // namespace plimsoll
