// SPDX-License-Identifier: Apache-2.0
#include "core/plan/plan_io.h"

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/plan/json_fields.h"
#include "core/plan/presets.h"

namespace plimsoll {

namespace {

constexpr Bytes largest_plan = 1 * MiB;
constexpr std::string_view example = R"({"plimsoll": 1, "model": {"preset": "llama-7b"}})";

Result<void> require_version(const Json& json, const std::string& what) {
    if (!json.is_object()) return bad_input("{}: a plan is an object such as {}", what, example);
    const auto version = json.find("plimsoll");
    if (version == json.end()) {
        if (json.contains("model_type")) {
            return bad_input("{} is a Hugging Face config, not a plan: import it with `plimsoll import hf`", what);
        }
        if (json.contains("plimsoll_model")) {
            return bad_input("{} describes a model, not a plan: a plan looks like {}", what, example);
        }
        return bad_input("{} is not a plan: the key \"plimsoll\" (the version) is missing; a plan looks like {}", what,
                         example);
    }
    if (!version->is_number_integer() || *version < 1) {
        return bad_input("{}: plimsoll is {}; the version of a plan is a whole number, now {}", what, shown(*version),
                         plan_version);
    }
    if (*version > plan_version) {
        return bad_input(
            "{} was written by a newer Plimsoll (plan version {}, this one reads up to {}): update Plimsoll", what,
            shown(*version), plan_version);
    }
    return {};
}

/// The preset's name where the document gives one; wrong types are left for the reader to report.
std::string preset_of(const Json& json) {
    const auto model = json.find("model");
    if (model == json.end() || !model->is_object()) return "";
    const auto preset = model->find("preset");
    return preset != model->end() && preset->is_string() ? preset->get<std::string>() : "";
}

/// Takes out the fields that the preset says already.
void keep_differences(Json& model_json, const std::string& preset_name) {
    if (preset_name.empty()) {
        model_json.erase("preset");
        return;
    }
    if (model_json["weights"] == "") model_json.erase("weights");
    Result<Model> preset = model_preset(preset_name);
    if (!preset) return;
    Json same = Json::object();
    JsonWriter writer(same);
    visit_fields(writer, *preset);
    for (const auto& [key, value] : same.items()) {
        if (model_json[key] == value) model_json.erase(key);
    }
}

/// Takes out keys that came later, where they say what a file without them means: a plan that does not use them is
/// written as before.
void keep_later_keys_if_used(Json& json) {
    const auto leave_out = [&](const char* section, const char* key, std::string_view usual) {
        if (json[section][key] == usual) json[section].erase(key);
    };
    leave_out("numerics", "weights", name_of(Numerics{}.weights));
    leave_out("numerics", "rounding", name_of(Numerics{}.rounding));
    leave_out("optimizer", "state_dtype", name_of(Optimizer{}.state_dtype));
}

}  // namespace

Result<LoadedPlan> plan_from_json(const Json& json, const std::string& what) {
    PLIMSOLL_CHECK(require_version(json, what));
    LoadedPlan loaded;
    if (const std::string name = preset_of(json); !name.empty()) {
        Result<Model> preset = model_preset(name);
        if (!preset) return bad_input("{}: model.preset: {}", what, preset.error().message);
        loaded.plan.model = *std::move(preset);
    }
    JsonReader reader(json, {"plimsoll", "deepspeed", "hugging_face"});
    visit_fields(reader, loaded.plan);
    Result<std::vector<std::string>> notes = reader.finish();
    if (!notes) return bad_input("{}: {}", what, notes.error().message);
    loaded.notes = *std::move(notes);
    loaded.plan.source = json;
    return loaded;
}

Result<LoadedPlan> load_plan(const std::filesystem::path& path) {
    return read_json(path, largest_plan).and_then([&](const Json& json) {
        return plan_from_json(json, path.string());
    });
}

Json to_json(const Plan& plan) {
    Json json = plan.source->is_object() ? *plan.source : Json::object();
    json["plimsoll"] = plan_version;
    JsonWriter writer(json);
    Plan copy = plan;
    visit_fields(writer, copy);
    keep_differences(json["model"], plan.model.preset);
    keep_later_keys_if_used(json);
    return json;
}

Result<void> save_plan(const std::filesystem::path& path, const Plan& plan) { return write_json(path, to_json(plan)); }

}  // namespace plimsoll
