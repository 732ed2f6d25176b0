// SPDX-License-Identifier: Apache-2.0
#include "core/plan/hugging_face/kept_keys.h"

#include <algorithm>
#include <array>
#include <set>

#include "core/plan/hugging_face/config_keys.h"
#include "core/plan/hugging_face/hf_config.h"
#include "core/plan/hugging_face/judge_config.h"
#include "core/plan/hugging_face/peft_config.h"
#include "core/plan/hugging_face/peft_keys.h"
#include "core/plan/plan_io.h"

namespace plimsoll {

namespace {

constexpr const char* section = "hugging_face";
constexpr const char* preset = "preset";  ///< model.preset when the keys were kept: another one is another model
constexpr Bytes largest_config = 4 * MiB;

void keep(Plan& plan, const char* part, Json keys) {
    // The section stands behind the plan's own.
    Json document = to_json(plan);
    Json& all = document[section];
    if (!all.is_object()) all = Json::object();
    all.erase(part);
    if (!keys.empty()) all[part] = std::move(keys);
    all[preset] = plan.model.preset;
    plan.source = std::move(document);
}

/// The part of what was kept; an empty object where there is none.
Json kept(const Plan& plan, const char* part) {
    const auto all = plan.source->find(section);
    if (all == plan.source->end() || !all->is_object()) return Json::object();
    if (all->value(preset, Json()) != plan.model.preset) return Json::object();
    const auto found = all->find(part);
    return found != all->end() && found->is_object() ? *found : Json::object();
}

Json kept_config(const Plan& plan) {
    const Json keys = kept(plan, "config");
    const auto type = keys.find("model_type");
    const bool same = type != keys.end() && *type == std::string(name_of(plan.model.family));
    return same ? keys : Json::object();
}

/// The rows of `table` that are read into fields, or say nothing.
std::set<std::string_view> left_out(const std::vector<FileKey>& table) {
    std::set<std::string_view> names;
    for (const FileKey& row : table) {
        if (row.use == KeyUse::Understood || row.use == KeyUse::Harmless) names.insert(row.name);
    }
    return names;
}

Json without(const std::set<std::string_view>& names, const Json& config) {
    Json keys = Json::object();
    for (const auto& [key, value] : config.items()) {
        const std::size_t size = value.dump(-1, ' ', false, Json::error_handler_t::replace).size();
        if (!names.contains(key) && size <= longest_kept_key) keys[key] = value;
    }
    return keys;
}

}  // namespace

void keep_config_keys(Plan& plan, const Json& config) {
    Json keys = without(left_out(config_keys(plan.model.family)), config);
    for (const KeyFinding& each : judge_config(config, plan.model)) {
        if (each.key == "sliding_window" && each.up_to > 0) keys["sliding_window"] = each.up_to;
    }
    keys["model_type"] = name_of(plan.model.family);
    keep(plan, "config", std::move(keys));
}

void keep_adapter_keys(Plan& plan, const Json& config) {
    const auto table = peft_keys();
    keep(plan, "adapter_config", without(left_out({table.begin(), table.end()}), config));
}

void keep_keys_of_weights(Plan& plan, const std::filesystem::path& config) {
    if (!config.empty()) {
        const auto imported = import_hf_config(config);
        if (imported && imported->model.family == plan.model.family) keep_config_keys(plan, imported->config);
    }
    if (plan.adapter.weights.empty()) return;
    const auto adapter = read_json(std::filesystem::path(plan.adapter.weights) / adapter_config_file, largest_config);
    if (adapter && adapter->is_object()) keep_adapter_keys(plan, *adapter);
}

KeyFindings kept_findings(const Plan& plan) {
    KeyFindings found = judge_config(kept_config(plan), plan.model);
    std::erase_if(found, [&](const KeyFinding& each) {
        return each.weight == KeyFinding::Weight::Told || !each.applies_at(plan.data.sequence_length);
    });
    return found;
}

Json exported_config_keys(const Plan& plan) {
    Json keys = kept_config(plan);
    if (keys.empty()) return keys;
    std::set<std::string_view> drop{"model_type", "architectures", "attention_bias", "mlp_bias"};
    const auto drop_all = [&](std::span<const std::string_view> names) { drop.insert(names.begin(), names.end()); };
    const KeyFindings found = kept_findings(plan);
    bool rope = rope_type(keys) != "default";
    for (const KeyFinding& each : found) {
        drop.insert(each.key);
        if (each.key.starts_with("rope_")) rope = false;
        const auto window = window_keys();
        if (std::find(window.begin(), window.end(), each.key) != window.end()) drop_all(window);
    }
    if (plan.model.activation != Activation::Gelu) drop.insert("activation_function");
    Json scaling = keys.contains("rope_scaling") && keys["rope_scaling"].is_object() ? keys["rope_scaling"]
                   : keys.contains("rope_parameters")                                ? keys["rope_parameters"]
                                                                                     : Json();
    for (const char* each : {"rope_scaling", "rope_parameters"}) drop.insert(each);
    for (const std::string_view each : drop) keys.erase(std::string(each));
    if (rope && scaling.is_object()) {
        // transformers 4 reads rope_scaling, 5 rope_parameters; the base is the plan's.
        scaling.erase("rope_theta");
        keys["rope_scaling"] = scaling;
        scaling["rope_type"] = rope_type(Json{{"rope_scaling", scaling}});
        scaling["rope_theta"] = plan.model.rope_theta;
        keys["rope_parameters"] = std::move(scaling);
    }
    return keys;
}

Json exported_adapter_keys(const Plan& plan) {
    // Judged keys ask for nothing, or the adapter would not have been read.
    return kept(plan, "adapter_config");
}

}  // namespace plimsoll
