// SPDX-License-Identifier: Apache-2.0
#include "core/interop/model_files/checkpoint_counts.h"

#include <system_error>

#include "core/checkpoint/checkpoint_config.h"
#include "core/checkpoint/stored_checkpoint.h"
#include "core/interop/model_files/safetensors_counts.h"

namespace plimsoll {

namespace fs = std::filesystem;

namespace {

/// The choice that a run from this checkpoint would make (engine/weights/hf_weights.h), which reads Hugging Face's
/// names alone.
bool is_safetensors(const fs::path& path) {
    std::error_code error;
    if (!fs::is_directory(path, error)) return path.extension() == ".safetensors";
    return fs::exists(path / "model.safetensors", error) || fs::exists(path / "model.safetensors.index.json", error);
}

bool has_safetensors(const fs::path& folder) {
    std::error_code error;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
        if (it->path().extension() == ".safetensors") return true;
    }
    return false;
}

Result<CheckpointCounts> of_safetensors(const fs::path& path) {
    PLIMSOLL_TRY(const auto counted, count_safetensors(path));
    CheckpointCounts counts;
    static_cast<DtypeCounts&>(counts) = counted;
    counts.kind = "safetensors";
    counts.place = path;
    counts.files = counted.files.size();
    counts.config = counted.config;
    return counts;
}

}  // namespace

Result<CheckpointCounts> count_checkpoint(const fs::path& path) {
    if (is_safetensors(path) || (!find_checkpoint(path) && has_safetensors(path))) return of_safetensors(path);
    PLIMSOLL_TRY(const auto checkpoint, open_checkpoint(path));
    DtypeCounter counter;
    for (const StoredTensor& each : checkpoint.weights) {
        PLIMSOLL_CHECK(counter.add(each.dtype, each.elements(), static_cast<Bytes>(each.bytes())));
    }
    CheckpointCounts counts;
    static_cast<DtypeCounts&>(counts) = counter.counts();
    counts.kind = name_of(checkpoint.kind);
    counts.place = checkpoint.path;
    counts.files = checkpoint.files;
    counts.step = checkpoint.step;
    counts.states = checkpoint.state_names;
    counts.config = checkpoint_config(path);
    return counts;
}

Json to_json(const CheckpointCounts& counts) {
    Json json = to_json(static_cast<const DtypeCounts&>(counts));
    json["files"] = counts.files;
    json["kind"] = counts.kind;
    json["place"] = counts.place.string();
    json["step"] = counts.step ? Json(*counts.step) : Json();
    json["optimizer_states"] = counts.states;
    return json;
}

}  // namespace plimsoll
