// SPDX-License-Identifier: Apache-2.0
// "layout.dp=4": one field of a plan by its dotted key.
#include "core/plan/settings.h"

#include <algorithm>

#include "core/base/json.h"
#include "core/base/nearest.h"
#include "core/plan/json_fields.h"
#include "core/plan/plan_schema.h"
#include "core/plan/presets.h"

namespace plimsoll {

namespace {

std::string unknown_key(const std::string& key) {
    std::vector<std::string> keys;
    std::vector<std::string> same_leaf;
    for (const FieldInfo& field : plan_fields()) {
        keys.push_back(field.key);
        if (field.key.starts_with(key + ".")) {
            return fmt::format("{} is a section of the plan; set one of its keys, such as {}", key, field.key);
        }
        if (field.key.ends_with("." + key)) same_leaf.push_back(field.key);
    }
    const std::string hint =
        same_leaf.empty() ? did_you_mean(key, keys) : fmt::format(" (did you mean {}?)", fmt::join(same_leaf, " or "));
    return fmt::format("there is no setting \"{}\"{}", key, hint);
}

/// JSON where the text is JSON, else the text itself; "layout.dp=4" is a number, "data.path=my text" is text.
Json value_of(const std::string& text) {
    const Result<Json> json = parse_json(text, "value");
    return json ? *json : Json(text);
}

Result<void> apply(Plan& plan, const std::string& setting) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos || equals == 0) {
        return bad_input("\"{}\" is not a setting; write key=value, such as layout.dp=4", setting);
    }
    if (!valid_utf8(setting)) return bad_input("the setting {} is not valid UTF-8 text", shown(Json(setting)));
    const std::string key = setting.substr(0, equals);
    const std::string value = setting.substr(equals + 1);
    static const std::vector<FieldInfo> fields = plan_fields();
    const auto is_key = [&](const FieldInfo& field) { return field.key == key; };
    if (std::none_of(fields.begin(), fields.end(), is_key)) return bad_input("{}", unknown_key(key));

    Json document = Json::object();
    Json* place = &document;
    const std::size_t dot = key.find('.');
    if (dot != std::string::npos) place = &document[key.substr(0, dot)];
    (*place)[dot == std::string::npos ? key : key.substr(dot + 1)] = value_of(value);

    JsonReader reader(document, {}, value);
    visit_fields(reader, plan);
    PLIMSOLL_CHECK(reader.finish());
    if (key == "model.preset" && !plan.model.preset.empty()) {
        Result<Model> preset = model_preset(plan.model.preset);
        if (!preset) return bad_input("model.preset: {}", preset.error().message);
        plan.model = *std::move(preset);
    }
    return {};
}

}  // namespace

Result<Plan> with_settings(const Plan& plan, const std::vector<std::string>& settings) {
    Plan changed = plan;
    for (const std::string& setting : settings) {
        PLIMSOLL_CHECK(apply(changed, setting));
    }
    return changed;
}

}  // namespace plimsoll
