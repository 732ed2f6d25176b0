// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/stored_checkpoint.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>

#include "core/base/file.h"
#include "core/checkpoint/checkpoint_kinds.h"

namespace plimsoll {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t most_files = 1'000'000;
/// Tied and shared tensors count more than once.
constexpr std::uint64_t most_sharing = 8;

bool is_there(const fs::path& path) {
    std::error_code error;
    return fs::exists(path, error);
}

/// Numbers in names compare as numbers.
bool natural_less(const std::string& a, const std::string& b) {
    std::size_t i = 0, j = 0;
    const auto digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
    while (i < a.size() && j < b.size()) {
        if (!digit(a[i]) || !digit(b[j])) {
            if (a[i] != b[j]) return a[i] < b[j];
            ++i, ++j;
            continue;
        }
        while (i < a.size() && a[i] == '0') ++i;
        while (j < b.size() && b[j] == '0') ++j;
        std::size_t m = i, n = j;
        while (m < a.size() && digit(a[m])) ++m;
        while (n < b.size() && digit(b[n])) ++n;
        if (m - i != n - j) return m - i < n - j;
        if (const int order = a.compare(i, m - i, b, j, n - j); order != 0) return order < 0;
        i = m, j = n;
    }
    return a.size() - i < b.size() - j;
}

/// The folder that a DeepSpeed root's `latest` or `latest_universal` names.
std::optional<fs::path> followed(const fs::path& root, const char* pointer) {
    const auto text = read_file(root / pointer, 4096);
    if (!text) return std::nullopt;
    std::string name = *text;
    while (!name.empty() && std::isspace(static_cast<unsigned char>(name.back())) != 0) name.pop_back();
    if (!is_plain_name(name) || !is_there(root / name)) return std::nullopt;
    return root / name;
}

std::optional<CheckpointPlace> in_folder(const fs::path& folder) {
    std::error_code error;
    if (is_there(folder / "pytorch_model.bin"))
        return CheckpointPlace{CheckpointKind::TorchFile, folder / "pytorch_model.bin"};
    if (is_there(folder / "pytorch_model.bin.index.json")) return CheckpointPlace{CheckpointKind::TorchShards, folder};
    if (is_there(folder / ".metadata")) return CheckpointPlace{CheckpointKind::Distributed, folder};
    if (fs::is_directory(folder / "zero", error)) return CheckpointPlace{CheckpointKind::DeepSpeedUniversal, folder};
    if (!files_named(folder, "", "_model_states.pt").empty())
        return CheckpointPlace{CheckpointKind::DeepSpeedZero, folder};
    return std::nullopt;
}

/// What a compiled, wrapped or checkpointed module puts into the names of its parameters.
std::string without_wrappers(std::string name) {
    for (const std::string_view wrapper : {"_orig_mod.", "_fsdp_wrapped_module.", "_checkpoint_wrapped_module."}) {
        std::string rest;
        std::size_t from = 0;
        for (auto at = name.find(wrapper); at != std::string::npos; at = name.find(wrapper, from)) {
            rest.append(name, from, at - from);
            from = at + wrapper.size();
        }
        if (from > 0) name = rest.append(name, from);
    }
    return name;
}

/// What stands before the table of embeddings; nothing where the name is another's.
std::optional<std::string> prefix_before(const std::string& name, const std::string& embedding,
                                         const std::string& body) {
    if (!name.ends_with(embedding)) return std::nullopt;
    std::string prefix = name.substr(0, name.size() - embedding.size());
    if (!prefix.empty() && prefix.back() != '.') return std::nullopt;
    const std::string own = body + ".";
    if (prefix.ends_with(own)) prefix.erase(prefix.size() - own.size());
    return prefix.empty() || prefix.back() == '.' ? std::optional(prefix) : std::nullopt;
}

/// A hostile file could name one storage a million times.
Result<void> check_sharing(const std::vector<StoredTensor>& weights, const fs::path& path) {
    std::set<const StoredBytes*> stored;
    std::uint64_t tensors = 0, bytes = 0;
    for (const StoredTensor& each : weights) {
        tensors += each.bytes();
        for (const StoredPart& part : each.parts) {
            if (stored.insert(part.bytes.get()).second) bytes += part.bytes->bytes;
        }
        if (tensors / most_sharing > bytes)
            return bad_input("{} has tensors that share storage more than {} times over; the checkpoint is damaged",
                             path.string(), most_sharing);
    }
    return {};
}

}  // namespace

bool is_plain_name(std::string_view name) {
    return !name.empty() && name != "." && name != ".." && name.find('/') == std::string_view::npos &&
           name.find('\0') == std::string_view::npos;
}

std::vector<std::string> files_named(const fs::path& folder, std::string_view begin, std::string_view end) {
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator it(folder, error), last; !error && it != last && names.size() < most_files;
         it.increment(error)) {
        const std::string name = it->path().filename().string();
        if (name.size() > begin.size() + end.size() && name.starts_with(begin) && name.ends_with(end))
            names.push_back(name);
    }
    std::sort(names.begin(), names.end(), natural_less);
    return names;
}

void sort_in(StoredTensor tensor, StoredCheckpoint& checkpoint) {
    constexpr std::array<std::string_view, 6> optimizers{
        "optimizer.", "optim.", "optimizers.", "optimizer_state.", "optimizer_states.", "optimizer_state_dict."};
    // What says how far a run was, and no weight of a model.
    for (const std::string_view other : {"train_state.", "lr_scheduler", "dataloader.", "rng_state"}) {
        if (tensor.name.starts_with(other)) return;
    }
    const auto owner = std::find_if(optimizers.begin(), optimizers.end(),
                                    [&](std::string_view each) { return tensor.name.starts_with(each); });
    if (owner == optimizers.end()) {
        checkpoint.weights.push_back(std::move(tensor));
        return;
    }
    const std::string state = tensor.name.substr(tensor.name.rfind('.') + 1);
    if (state != "step") checkpoint.state_names.insert(state);
    checkpoint.states.push_back(std::move(tensor));
}

std::optional<CheckpointPlace> find_checkpoint(const fs::path& path) {
    std::error_code error;
    if (fs::is_regular_file(path, error)) return CheckpointPlace{CheckpointKind::TorchFile, path};
    for (const char* pointer : {"latest_universal", "latest"}) {
        const auto folder = followed(path, pointer);
        if (folder && in_folder(*folder)) return in_folder(*folder);
    }
    if (const auto found = in_folder(path)) return found;
    for (const char* inner : {"pytorch_model_fsdp_0", "model"}) {
        if (const auto found = in_folder(path / inner)) return found;
    }
    return std::nullopt;
}

Result<StoredCheckpoint> open_checkpoint(const fs::path& path) {
    if (!is_there(path)) return bad_input("there is no file or folder {}", path.string());
    const auto found = find_checkpoint(path);
    if (!found) {
        return bad_input(
            "{} holds no checkpoint that is known: none of pytorch_model.bin (or its index), .metadata of "
            "torch.distributed.checkpoint, zero/ of a DeepSpeed universal checkpoint, *_model_states.pt of DeepSpeed",
            path.string());
    }
    switch (found->kind) {
        case CheckpointKind::TorchFile:
            return open_torch_file(found->path);
        case CheckpointKind::TorchShards:
            return open_torch_shards(found->path);
        case CheckpointKind::Distributed:
            return open_distributed(found->path);
        case CheckpointKind::DeepSpeedUniversal:
            return open_universal(found->path);
        case CheckpointKind::DeepSpeedZero:
            return open_zero(found->path);
    }
    return bad_input("{} holds no checkpoint that is known", path.string());
}

Result<std::vector<StoredTensor>> model_weights(const StoredCheckpoint& checkpoint, const std::string& embedding,
                                                const std::vector<std::string>& heads) {
    std::set<std::string> prefixes;
    for (const StoredTensor& each : checkpoint.weights) {
        if (auto prefix = prefix_before(without_wrappers(each.name), embedding, heads.front()))
            prefixes.insert(*std::move(prefix));
    }
    if (prefixes.empty())
        return bad_input("{} has no tensor {}; it is of another model", checkpoint.path.string(), embedding);
    if (prefixes.size() > 1) {
        return bad_input("{} holds more than one model (under \"{}\" and \"{}\"); save the one that is wanted alone",
                         checkpoint.path.string(), *prefixes.begin(), *prefixes.rbegin());
    }
    std::vector<StoredTensor> weights;
    for (const StoredTensor& each : checkpoint.weights) {
        std::string name = without_wrappers(each.name);
        if (!name.starts_with(*prefixes.begin())) continue;
        name.erase(0, prefixes.begin()->size());
        if (std::find(heads.begin(), heads.end(), name.substr(0, name.find('.'))) == heads.end()) continue;
        weights.push_back(each);
        weights.back().name = std::move(name);
    }
    PLIMSOLL_CHECK(check_sharing(weights, checkpoint.path));
    return weights;
}

}  // namespace plimsoll
