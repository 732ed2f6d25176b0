// SPDX-License-Identifier: Apache-2.0
#include "core/plan/presets.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <system_error>

#include "core/base/json.h"
#include "core/base/nearest.h"
#include "core/plan/json_fields.h"
#include "core/plan/parameters.h"
#include "core/plan/plan_io.h"

namespace plimsoll {

namespace fs = std::filesystem;

namespace {

/// The .json files of a folder by their stem. A folder that is not there has none.
std::map<std::string, fs::path> json_files(const fs::path& folder) {
    std::map<std::string, fs::path> files;
    std::error_code error;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
        if (it->path().extension() == ".json") files[it->path().stem().string()] = it->path();
    }
    return files;
}

Result<Model> read_model(const std::string& name, const fs::path& path) {
    PLIMSOLL_TRY(const Json json, read_json(path));
    if (!json.is_object() || json.value("plimsoll_model", Json()) != Json(1)) {
        return bad_input("{} is not a model preset: \"plimsoll_model\": 1 is missing", path.string());
    }
    Model model;
    JsonReader reader(json, {"plimsoll_model"});
    visit_fields(reader, model);
    const auto notes = reader.finish();
    if (!notes) return bad_input("{}: {}", path.string(), notes.error().message);
    // A key that is misspelt here would be silently wrong numbers.
    if (!notes->empty()) return bad_input("{}: {}", path.string(), notes->front());
    model.preset = name;
    return model;
}

struct ModelPresets {
    std::vector<std::string> names;
    std::map<std::string, Result<Model>> models;

    ModelPresets() {
        for (const auto& [name, path] : json_files(data_folder() / "presets" / "models")) {
            models.emplace(name, read_model(name, path));
            names.push_back(name);
        }
        const auto place = [&](const std::string& name) {
            const Result<Model>& model = models.at(name);
            if (!model) return std::pair{static_cast<int>(family_names.size()), std::int64_t{0}};
            return std::pair{static_cast<int>(model->family), count_parameters(*model).total};
        };
        std::stable_sort(names.begin(), names.end(),
                         [&](const std::string& a, const std::string& b) { return place(a) < place(b); });
    }
};

const ModelPresets& model_presets() {
    static const ModelPresets presets;
    return presets;
}

tl::unexpected<Error> unknown_preset(std::string_view kind, const std::string& name,
                                     const std::vector<std::string>& known) {
    if (known.empty()) {
        return bad_input("there are no {} presets in {}: set PLIMSOLL_DATA to the folder that holds presets/", kind,
                         (data_folder() / "presets").string());
    }
    const std::string hint = did_you_mean(name, known);
    return bad_input("there is no {} preset \"{}\"{}; there are: {}", kind, name, hint, fmt::join(known, ", "));
}

}  // namespace

fs::path data_folder() {
    if (const char* folder = std::getenv("PLIMSOLL_DATA"); folder && *folder) return folder;
    std::error_code error;
    const fs::path program = fs::read_symlink("/proc/self/exe", error);
    if (!error) {
        const fs::path installed = program.parent_path().parent_path() / "share" / "plimsoll";
        if (fs::is_directory(installed / "presets", error)) return installed;
    }
    return PLIMSOLL_SOURCE_DIR;
}

const std::vector<std::string>& model_preset_names() { return model_presets().names; }

Result<Model> model_preset(const std::string& name) {
    const ModelPresets& presets = model_presets();
    const auto found = presets.models.find(name);
    if (found == presets.models.end()) return unknown_preset("model", name, presets.names);
    return found->second;
}

const std::vector<std::string>& plan_preset_names() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> found;
        for (const auto& [name, path] : json_files(data_folder() / "presets" / "plans")) found.push_back(name);
        return found;
    }();
    return names;
}

Result<Plan> plan_preset(const std::string& name) {
    const std::vector<std::string>& names = plan_preset_names();
    if (std::find(names.begin(), names.end(), name) == names.end()) return unknown_preset("plan", name, names);
    const fs::path path = data_folder() / "presets" / "plans" / (name + ".json");
    return load_plan(path).and_then([&](LoadedPlan loaded) -> Result<Plan> {
        if (!loaded.notes.empty()) return bad_input("{}: {}", path.string(), loaded.notes.front());
        return std::move(loaded.plan);
    });
}

}  // namespace plimsoll
