// SPDX-License-Identifier: Apache-2.0
#include "core/interop/model_files/hf_folder.h"

#include <algorithm>
#include <array>
#include <system_error>

#include "core/base/json.h"
#include "core/checkpoint/checkpoint_state.h"
#include "core/checkpoint/safetensors_header.h"
#include "core/interop/model_files/folder_aside.h"
#include "core/plan/hugging_face/peft_config.h"
#include "core/telemetry/contract/run_layout.h"

namespace plimsoll {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t block = 8 * MiB;
constexpr std::array exported_files{model_file, config_file};
constexpr std::array adapter_files{adapter_file, adapter_config_file};

using Shard = std::vector<TensorPlace>;

std::vector<Shard> shards_of(const std::vector<TensorPlace>& places, std::uint64_t shard_size) {
    std::vector<Shard> shards(1);
    std::uint64_t bytes = 0;
    for (const TensorPlace& place : places) {
        if (!shards.back().empty() && bytes + place.bytes() > shard_size) {
            shards.emplace_back();
            bytes = 0;
        }
        shards.back().push_back(place);
        bytes += place.bytes();
    }
    return shards;
}

std::string file_of(std::size_t shard, std::size_t shards) {
    return shards == 1 ? model_file : fmt::format("model-{:05}-of-{:05}.safetensors", shard + 1, shards);
}

/// Copies tensors and reports progress.
class Copy {
public:
    Copy(const FileReader& from, const SafetensorsHeader& header, const HfFolderOptions& options, Bytes total)
        : from_(from), header_(header), options_(options), total_(total) {}

    Result<void> shard(const fs::path& path, const Shard& shard) {
        // transformers wants to know which framework wrote the file.
        Metadata metadata = header_.metadata;
        metadata.try_emplace("format", "pt");
        PLIMSOLL_TRY(const auto header, make_safetensors_header(shard, metadata));
        PLIMSOLL_TRY(auto to, FileWriter::create(path));
        if (auto written = write_safetensors_header(to, header); !written) return written;
        for (const TensorPlace& place : shard) {
            if (auto copied = tensor(place, to); !copied) return copied;
        }
        return to.finish();
    }

private:
    Result<void> tensor(const TensorPlace& place, FileWriter& to) {
        for (std::uint64_t at = place.begin; at < place.end;) {
            bytes_.resize(std::min(block, place.end - at));
            if (auto read = from_.read(bytes_.data(), bytes_.size(), header_.data + at); !read) return read;
            if (auto written = to.write(bytes_.data(), bytes_.size()); !written) return written;
            at += bytes_.size();
            done_ += static_cast<Bytes>(bytes_.size());
            if (options_.go_on && !options_.go_on(done_, total_)) return failed("stopped; nothing was exported");
        }
        return {};
    }

    const FileReader& from_;
    const SafetensorsHeader& header_;
    const HfFolderOptions& options_;
    Bytes total_, done_ = 0;
    std::string bytes_;
};

Json index_of(const std::vector<Shard>& shards, Bytes total) {
    Json index = {{"metadata", {{"total_size", total}}}, {"weight_map", Json::object()}};
    for (std::size_t k = 0; k < shards.size(); ++k) {
        for (const TensorPlace& place : shards[k]) index["weight_map"][place.name] = file_of(k, shards.size());
    }
    return index;
}

}  // namespace

Result<HfFolder> export_hf_folder(const fs::path& checkpoint, const fs::path& out, const HfFolderOptions& options) {
    const fs::path weights = checkpoint / model_file;
    PLIMSOLL_TRY(const auto from, FileReader::open(weights));
    PLIMSOLL_TRY(const auto header, read_safetensors_header(from, weights.string()));
    const auto total = static_cast<Bytes>(from.size() - header.data);
    PLIMSOLL_TRY(const auto config, read_json(checkpoint / config_file, 4 * MiB));
    if (config.value("model_type", "") == "plimsoll") {
        return bad_input(
            "{} is of a model with norms behind its sublayers or on q and k (model.norm_placement, model.qk_norm), for "
            "which transformers has no class; its weights are in model.safetensors there",
            checkpoint.string());
    }
    PLIMSOLL_CHECK(require_free_place(out, total));

    const auto shards = shards_of(header.places, static_cast<std::uint64_t>(options.shard_size));
    PLIMSOLL_TRY(auto folder, FolderAside::make(out));
    Copy copy(from, header, options, total);
    Result<void> done;
    for (std::size_t k = 0; k < shards.size() && done; ++k) {
        done = copy.shard(folder.path() / file_of(k, shards.size()), shards[k]);
    }
    if (done && shards.size() > 1) {
        done = write_json(folder.path() / "model.safetensors.index.json", index_of(shards, total));
    }
    if (done) done = write_json(folder.path() / config_file, config);
    if (done) done = folder.put_in_place();
    if (!done) return tl::unexpected(done.error());
    return HfFolder{shards.size(), header.places.size(), total};
}

Result<void> export_peft_folder(const fs::path& checkpoint, const fs::path& out) {
    std::error_code error;
    const auto bytes = fs::file_size(checkpoint / adapter_file, error);
    if (error) {
        return bad_input("{} holds no {}: the run trained all weights; export it with `plimsoll export hf`",
                         checkpoint.string(), adapter_file);
    }
    if (auto fits = require_free_place(out, static_cast<Bytes>(bytes)); !fits) return fits;
    PLIMSOLL_TRY(auto folder, FolderAside::make(out));
    for (const char* name : adapter_files) {
        fs::copy_file(checkpoint / name, folder.path() / name, error);
        if (error) return bad_input("cannot copy {}: {}", (checkpoint / name).string(), error.message());
    }
    return folder.put_in_place();
}

Result<fs::path> checkpoint_to_export(const fs::path& checkpoints, std::int64_t step, ExportedWeights weights,
                                      std::vector<std::string>* skipped) {
    const auto& exported = weights == ExportedWeights::Adapter ? adapter_files : exported_files;
    const std::vector<std::int64_t> steps = checkpoint_steps(checkpoints);
    if (steps.empty()) {
        return bad_input("{} holds no checkpoint; train the run for some steps first", checkpoints.string());
    }
    if (step == 0) {
        std::vector<std::string> damaged;
        const auto newest = newest_checkpoint(checkpoints, &damaged, exported);
        if (!newest) return bad_input("all checkpoints are damaged: {}", fmt::join(damaged, "; "));
        *skipped = std::move(damaged);
        return *newest;
    }
    if (std::find(steps.begin(), steps.end(), step) == steps.end()) {
        return bad_input("there is no checkpoint of step {} in {}; there are those of step {}", step,
                         checkpoints.string(), fmt::join(steps, ", "));
    }
    fs::path path = checkpoints / checkpoint_name(step);
    PLIMSOLL_CHECK(verified_state(path, exported));
    return path;
}

}  // namespace plimsoll
