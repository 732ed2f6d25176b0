// SPDX-License-Identifier: Apache-2.0
#include "core/interop/hf_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <system_error>

#include "core/base/json.h"
#include "core/checkpoint/checkpoint_state.h"
#include "core/checkpoint/safetensors_header.h"

namespace plimsoll {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t block = 8 * MiB;
/// Headers, index and configuration, with room to spare.
constexpr Bytes beside_tensors = 16 * MiB;
constexpr std::array exported_files{model_file, config_file};

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

/// A folder beside its final place; destroyed before put_in_place() it leaves nothing behind.
class FolderAside {
public:
    static Result<FolderAside> make(const fs::path& out) {
        const fs::path named = out.has_filename() ? out : out.parent_path();
        fs::path aside = named.parent_path() / fmt::format(".{}.{}.tmp", named.filename().string(), ::getpid());
        std::error_code error;
        if (!fs::create_directory(aside, error)) {
            return bad_input("cannot make the folder {}: {}; choose another place with --out", out.string(),
                             error ? error.message() : fmt::format("{} is there", aside.string()));
        }
        return FolderAside(named, std::move(aside));
    }
    ~FolderAside() {
        std::error_code ignored;
        if (!aside_.empty()) fs::remove_all(aside_, ignored);
    }
    FolderAside(FolderAside&& other) noexcept : out_(std::move(other.out_)), aside_(std::exchange(other.aside_, {})) {}
    FolderAside& operator=(FolderAside&&) = delete;

    const fs::path& path() const { return aside_; }

    Result<void> put_in_place() {
        if (auto synced = sync_folder(aside_); !synced) return synced;
        int failure = 0;
        if (::renameat2(AT_FDCWD, aside_.c_str(), AT_FDCWD, out_.c_str(), RENAME_NOREPLACE) != 0) failure = errno;
        // File systems without the flag (NFS): rename() puts a folder in the place of an empty one at most.
        if (failure == EINVAL) failure = ::rename(aside_.c_str(), out_.c_str()) == 0 ? 0 : errno;
        if (failure == EEXIST || failure == ENOTEMPTY) return bad_input("{} is there meanwhile", out_.string());
        if (failure != 0) return bad_input("cannot put {} in place: {}", out_.string(), errno_text(failure));
        aside_.clear();
        return sync_folder(out_.has_parent_path() ? out_.parent_path() : fs::path("."));
    }

private:
    FolderAside(fs::path out, fs::path aside) : out_(std::move(out)), aside_(std::move(aside)) {}
    fs::path out_, aside_;
};

/// Copies tensors and says how far it is.
class Copy {
public:
    Copy(const FileReader& from, const SafetensorsHeader& header, const HfFolderOptions& options, Bytes total)
        : from_(from), header_(header), options_(options), total_(total) {}

    Result<void> shard(const fs::path& path, const Shard& shard) {
        // transformers wants to know which framework wrote the file.
        Metadata metadata = header_.metadata;
        metadata.try_emplace("format", "pt");
        const auto header = make_safetensors_header(shard, metadata);
        if (!header) return tl::unexpected(header.error());
        auto to = FileWriter::create(path);
        if (!to) return tl::unexpected(to.error());
        if (auto written = write_safetensors_header(*to, *header); !written) return written;
        for (const TensorPlace& place : shard) {
            if (auto copied = tensor(place, *to); !copied) return copied;
        }
        return to->finish();
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

Result<void> check_place(const fs::path& out, Bytes total) {
    std::error_code error;
    if (fs::symlink_status(out, error).type() != fs::file_type::not_found) {
        return bad_input("{} is there already and is left as it is; name another folder with --out, or remove it",
                         out.string());
    }
    const fs::path named = out.has_filename() ? out : out.parent_path();
    const fs::path parent = named.has_parent_path() ? named.parent_path() : fs::path(".");
    if (!fs::is_directory(parent, error)) {
        return bad_input("cannot export to {}: there is no folder {}; make it first", out.string(), parent.string());
    }
    const fs::space_info room = fs::space(parent, error);
    if (!error && room.available < static_cast<std::uint64_t>(total + beside_tensors)) {
        return bad_input("the disk of {} is too full: the weights take {} and {} are free; name another with --out",
                         parent.string(), format_bytes(total), format_bytes(static_cast<Bytes>(room.available)));
    }
    return {};
}

}  // namespace

Result<HfFolder> export_hf_folder(const fs::path& checkpoint, const fs::path& out, const HfFolderOptions& options) {
    const fs::path weights = checkpoint / model_file;
    const auto from = FileReader::open(weights);
    if (!from) return tl::unexpected(from.error());
    const auto header = read_safetensors_header(*from, weights.string());
    if (!header) return tl::unexpected(header.error());
    const auto total = static_cast<Bytes>(from->size() - header->data);
    const auto config = read_json(checkpoint / config_file, 4 * MiB);
    if (!config) return tl::unexpected(config.error());
    if (config->value("model_type", "") == "plimsoll") {
        return bad_input(
            "{} is of a model with norms behind its sublayers or on q and k (model.norm_placement, model.qk_norm), for "
            "which transformers has no class; its weights are in model.safetensors there",
            checkpoint.string());
    }
    if (auto fits = check_place(out, total); !fits) return tl::unexpected(fits.error());

    const auto shards = shards_of(header->places, static_cast<std::uint64_t>(options.shard_size));
    auto folder = FolderAside::make(out);
    if (!folder) return tl::unexpected(folder.error());
    Copy copy(*from, *header, options, total);
    Result<void> done;
    for (std::size_t k = 0; k < shards.size() && done; ++k) {
        done = copy.shard(folder->path() / file_of(k, shards.size()), shards[k]);
    }
    if (done && shards.size() > 1) {
        done = write_json(folder->path() / "model.safetensors.index.json", index_of(shards, total));
    }
    if (done) done = write_json(folder->path() / config_file, *config);
    if (done) done = folder->put_in_place();
    if (!done) return tl::unexpected(done.error());
    return HfFolder{shards.size(), header->places.size(), total};
}

Result<fs::path> checkpoint_to_export(const fs::path& checkpoints, std::int64_t step,
                                      std::vector<std::string>* skipped) {
    const std::vector<std::int64_t> steps = checkpoint_steps(checkpoints);
    if (steps.empty()) {
        return bad_input("{} holds no checkpoint; train the run for some steps first", checkpoints.string());
    }
    if (step == 0) {
        std::vector<std::string> damaged;
        const auto newest = newest_checkpoint(checkpoints, &damaged, exported_files);
        if (!newest) return bad_input("all checkpoints are damaged: {}", fmt::join(damaged, "; "));
        *skipped = std::move(damaged);
        return *newest;
    }
    if (std::find(steps.begin(), steps.end(), step) == steps.end()) {
        return bad_input("there is no checkpoint of step {} in {}; there are those of step {}", step,
                         checkpoints.string(), fmt::join(steps, ", "));
    }
    fs::path path = checkpoints / checkpoint_name(step);
    const auto whole = verified_state(path, exported_files);
    if (!whole) return tl::unexpected(whole.error());
    return path;
}

}  // namespace plimsoll
