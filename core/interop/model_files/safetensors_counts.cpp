// SPDX-License-Identifier: Apache-2.0
#include "core/interop/model_files/safetensors_counts.h"

#include <algorithm>
#include <map>
#include <set>
#include <system_error>

#include "core/checkpoint/safetensors_header.h"

namespace plimsoll {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view index_ending = ".safetensors.index.json";
constexpr std::size_t most_files = 10'000;

/// Which file each tensor is in.
using WeightMap = std::map<std::string, std::string>;

Result<WeightMap> read_index(const fs::path& path) {
    PLIMSOLL_TRY(const auto json, read_json(path));
    const auto map = json.is_object() ? json.find("weight_map") : json.end();
    if (map == json.end() || !map->is_object()) return bad_input("{} has no weight_map; it is no index", path.string());
    WeightMap found;
    for (const auto& [tensor, file] : map->items()) {
        // A name that leads out of the folder would read a file that nobody meant.
        if (!file.is_string() || fs::path(file.get<std::string>()).filename() != fs::path(file.get<std::string>()))
            return bad_input("{}: {} of tensor \"{}\" is no name of a file in its folder", path.string(), shown(file),
                             tensor);
        found[tensor] = file.get<std::string>();
    }
    return found;
}

struct Folder {
    std::vector<fs::path> files;
    std::vector<fs::path> indexes;
};

Result<Folder> look_into(const fs::path& path) {
    Folder found;
    std::error_code error;
    for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
        if (it->path().string().ends_with(index_ending)) found.indexes.push_back(it->path());
        if (it->path().extension() == ".safetensors") found.files.push_back(it->path());
        if (found.files.size() > most_files)
            return bad_input("{} has more than {} safetensors files; name one of them", path.string(), most_files);
    }
    if (error) return bad_input("cannot look into {}: {}", path.string(), error.message());
    if (found.files.empty()) return bad_input("{} has no safetensors files", path.string());
    if (found.indexes.size() > 1)
        return bad_input("{} has {} indexes of safetensors files; name a file instead", path.string(),
                         found.indexes.size());
    std::sort(found.files.begin(), found.files.end());
    return found;
}

class Counter {
public:
    Result<void> add(const fs::path& path) {
        PLIMSOLL_TRY(const auto file, FileReader::open(path));
        PLIMSOLL_TRY(const auto header, read_safetensors_header(file, path.string()));
        for (const TensorPlace& place : header.places) {
            const auto [seen, fresh] = where.emplace(place.name, path.filename().string());
            if (!fresh)
                return bad_input(
                    "tensor \"{}\" is in {} and in {}: name one of the files, or the folder of the model alone",
                    place.name, seen->second, path.filename().string());
            if (auto counted = count(place); !counted) return counted;
        }
        counts.files.push_back(path);
        return {};
    }

    SafetensorsCounts finish() {
        static_cast<DtypeCounts&>(counts) = counter_.counts();
        return std::move(counts);
    }

    SafetensorsCounts counts;
    WeightMap where;

private:
    Result<void> count(const TensorPlace& place) {
        // The header's reader has checked the shape's product against the tensor's bytes, except for a tensor without
        // bytes.
        std::int64_t elements = place.bytes() == 0 ? 0 : 1;
        for (const std::int64_t size : place.shape) elements *= place.bytes() == 0 ? 1 : size;
        return counter_.add(place.dtype, elements, static_cast<Bytes>(place.bytes()));
    }

    DtypeCounter counter_;
};

Result<std::vector<fs::path>> files_of(const fs::path& folder, const WeightMap& index) {
    std::set<std::string> names;
    for (const auto& [tensor, file] : index) names.insert(file);
    if (names.size() > most_files) return bad_input("the index in {} names {} files", folder.string(), names.size());
    std::vector<fs::path> files;
    for (const std::string& name : names) files.push_back(folder / name);
    return files;
}

Result<void> same_as_index(const WeightMap& index, const WeightMap& found) {
    for (const auto& [tensor, file] : index) {
        const auto place = found.find(tensor);
        if (place == found.end() || place->second != file)
            return bad_input(
                "the index has tensor \"{}\" in {}, which has no such tensor: files of two models are mixed", tensor,
                file);
    }
    for (const auto& [tensor, file] : found) {
        if (!index.contains(tensor))
            return bad_input("{} has tensor \"{}\", of which the index knows nothing: files of two models are mixed",
                             file, tensor);
    }
    return {};
}

}  // namespace

Result<SafetensorsCounts> count_safetensors(const fs::path& path) {
    std::error_code error;
    const bool is_folder = fs::is_directory(path, error);
    std::vector<fs::path> files{path};
    std::optional<WeightMap> index;
    if (is_folder) {
        auto folder = look_into(path);
        if (!folder) return tl::unexpected(folder.error());
        files = std::move(folder->files);
        if (!folder->indexes.empty()) {
            PLIMSOLL_TRY(auto read, read_index(folder->indexes.front()));
            PLIMSOLL_TRY(auto named, files_of(path, read));
            files = std::move(named);
            index = std::move(read);
        }
    }
    Counter counter;
    for (const fs::path& file : files) {
        PLIMSOLL_CHECK(counter.add(file));
    }
    if (index) {
        PLIMSOLL_CHECK(same_as_index(*index, counter.where));
    }
    SafetensorsCounts counts = counter.finish();
    const fs::path config = (is_folder ? path : path.parent_path()) / "config.json";
    if (fs::is_regular_file(config, error)) counts.config = config;
    return counts;
}

Json to_json(const SafetensorsCounts& counts) {
    Json json = to_json(static_cast<const DtypeCounts&>(counts));
    json["files"] = counts.files.size();
    return json;
}

}  // namespace plimsoll
