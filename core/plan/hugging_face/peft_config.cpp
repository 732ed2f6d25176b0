// SPDX-License-Identifier: Apache-2.0
#include "core/plan/hugging_face/peft_config.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/plan/adapter.h"
#include "core/plan/hugging_face/kept_keys.h"
#include "core/plan/hugging_face/peft_keys.h"

namespace plimsoll {

namespace {

/// Several of PEFT's ways to begin change the base weights, so that the saved adapter fits those alone.
bool is_known_begin(const Json& config) {
    const auto found = config.find("init_lora_weights");
    if (found == config.end() || found->is_boolean() || found->is_null()) return true;
    return found->is_string() && (*found == "gaussian" || *found == "orthogonal" || *found == "eva");
}

/// "3" and "self_attn.q_proj" of "model.layers.3.self_attn.q_proj"; no layer in a name that is only an end.
std::pair<std::string, std::string> in_layer(const std::string& name) {
    for (const std::string_view list : {"layers.", "h."}) {
        const auto at = name.find(list);
        if (at == std::string::npos || (at > 0 && name[at - 1] != '.')) continue;
        const auto number = at + list.size(), dot = name.find('.', number);
        if (dot == std::string::npos || name.find_first_not_of("0123456789", number) != dot) continue;
        return {name.substr(number, dot - number), name.substr(dot + 1)};
    }
    return {"", name};
}

/// The first key that asks for what a plan's adapters do not do, or that is not known.
Result<void> require_plain_lora(const Json& config, const std::string& what) {
    const std::span<const FileKey> known = peft_keys();
    for (const auto& [key, value] : config.items()) {
        const auto row =
            std::find_if(known.begin(), known.end(), [&](const FileKey& each) { return each.name == key; });
        if (row == known.end() && !is_neutral(value)) {
            return bad_input(
                "{}: {} is {}, a key that is not known: it may ask for another kind of adapter; merge the adapter into "
                "its base with PEFT",
                what, key, shown(value));
        }
        if (row == known.end() || row->use != KeyUse::Judged || is_neutral(value, row->neutral)) continue;
        return bad_input(
            "{}: {} is {}, which asks for {}; a plan's adapters do without: merge the adapter into its base with PEFT",
            what, key, shown(value), row->reason);
    }
    return {};
}

KeyFindings told_of(const Json& config) {
    KeyFindings found;
    if (const Json& dropout = value_under(config, "lora_dropout"); dropout.is_number() && dropout > Json(0)) {
        found.push_back({"lora_dropout",
                         fmt::format("lora_dropout is {}: a plan's adapters train without dropout; the key is kept for "
                                     "the export",
                                     shown(dropout))});
    }
    if (const Json& task = value_under(config, "task_type"); !task.is_null() && task != "CAUSAL_LM") {
        found.push_back({"task_type", fmt::format("task_type is {}: a plan trains a causal language model; the key is "
                                                  "kept for the export",
                                                  shown(task))});
    }
    return found;
}

Result<std::string> targets_of(const Json& config, const std::string& what) {
    const auto found = config.find("target_modules");
    if (found != config.end() && *found == "all-linear") return std::string("all-linear");
    if (found == config.end() || !found->is_array() || found->empty()) {
        return bad_input(
            "{}: target_modules is {}; a list of names or \"all-linear\" is needed (a pattern is not read)", what,
            found == config.end() ? "missing" : shown(*found));
    }
    // PEFT names a matrix by its end, or in full, layer by layer.
    std::set<std::string> names;
    std::map<std::string, std::set<std::string>> layers;
    for (const Json& each : *found) {
        const std::string name = each.is_string() ? each.get<std::string>() : "";
        if (name.empty() || name.find_first_of(", ") != std::string::npos) {
            return bad_input("{}: target_modules holds {}; each is the name of a matrix", what, shown(each));
        }
        const auto [layer, module] = in_layer(name);
        names.insert(module);
        if (!layer.empty()) layers[module].insert(layer);
    }
    for (const auto& [module, own] : layers) {
        if (own == layers.begin()->second) continue;
        return bad_input(
            "{}: target_modules names {} in other layers than {}; a plan's adapters are the same in all layers: merge "
            "the adapter into its base with PEFT",
            what, module, layers.begin()->first);
    }
    return fmt::format("{}", fmt::join(names, ","));
}

}  // namespace

Json peft_config(const Plan& plan) {
    Json config = Json::object();
    config["peft_type"] = "LORA";
    config["task_type"] = "CAUSAL_LM";
    config["base_model_name_or_path"] = plan.model.weights.empty() ? Json() : Json(plan.model.weights);
    config["r"] = plan.adapter.rank;
    // A whole number where it is one, as PEFT writes it.
    const auto whole = static_cast<std::int64_t>(plan.adapter.alpha);
    const bool is_whole = static_cast<double>(whole) == plan.adapter.alpha;
    config["lora_alpha"] = is_whole ? Json(whole) : Json(plan.adapter.alpha);
    config["lora_dropout"] = 0.0;
    config["target_modules"] = target_modules(plan);
    config["bias"] = "none";
    config["fan_in_fan_out"] = plan.model.family == Family::Gpt2;  // its matrices are [in, out]
    config["use_rslora"] = plan.adapter.rank_stabilized;
    config["use_dora"] = false;
    config["modules_to_save"] = nullptr;
    config["init_lora_weights"] = true;
    config["inference_mode"] = true;
    const Json kept = exported_adapter_keys(plan);
    for (const auto& [key, value] : kept.items()) config[key] = value;
    return config;
}

Result<PeftAdapter> adapter_from_peft(const Json& config, const std::string& what) {
    if (!config.is_object() || !config.contains("peft_type")) {
        return bad_input("{} is no PEFT adapter's config: peft_type is missing", what);
    }
    if (config["peft_type"] != "LORA") {
        return bad_input("{}: peft_type is {}; only LORA is read", what, shown(config["peft_type"]));
    }
    PLIMSOLL_CHECK(require_plain_lora(config, what));
    if (!is_known_begin(config)) {
        return bad_input(
            "{}: init_lora_weights is {}, which changes the base weights; save it with "
            "path_initial_model_for_weight_conversion, as PEFT's guide says, and take that",
            what, shown(config["init_lora_weights"]));
    }
    PeftAdapter read;
    const auto rank = config.find("r"), alpha = config.find("lora_alpha");
    if (rank == config.end() || !rank->is_number_integer() || *rank < 1 || *rank > 1'000'000) {
        return bad_input("{}: r is {}; the rank is a whole number of 1 or more", what,
                         rank == config.end() ? "missing" : shown(*rank));
    }
    if (alpha == config.end() || !alpha->is_number() || !(alpha->get<double>() > 0)) {
        return bad_input("{}: lora_alpha is {}; a number above 0 is needed", what,
                         alpha == config.end() ? "missing" : shown(*alpha));
    }
    read.adapter.rank = rank->get<std::int64_t>();
    read.adapter.alpha = alpha->get<double>();
    read.adapter.rank_stabilized = !is_neutral(value_under(config, "use_rslora"));
    PLIMSOLL_TRY(auto targets, targets_of(config, what));
    read.adapter.targets = std::move(targets);
    const auto base = config.find("base_model_name_or_path");
    if (base != config.end() && base->is_string()) read.base = base->get<std::string>();
    read.config = config;
    read.findings = told_of(config);
    return read;
}

Result<PeftAdapter> read_peft_adapter(const std::filesystem::path& folder) {
    const std::filesystem::path path = folder / adapter_config_file;
    PLIMSOLL_TRY(const auto json, read_json(path, 4 * MiB));
    return adapter_from_peft(json, path.string());
}

Result<void> require_same_adapter(const std::filesystem::path& folder, const Plan& plan) {
    const std::filesystem::path path = folder / adapter_config_file;
    PLIMSOLL_TRY(const auto read, read_peft_adapter(folder));
    const Adapter &theirs = read.adapter, &own = plan.adapter;
    if (theirs.rank != own.rank) {
        return bad_input("adapter.rank is {}, and that of {} is {}; set it to that", own.rank, path.string(),
                         theirs.rank);
    }
    if (theirs.alpha != own.alpha || theirs.rank_stabilized != own.rank_stabilized) {
        return bad_input(
            "{} has lora_alpha {} and use_rslora {}, the plan adapter.alpha {} and adapter.rank_stabilized {}; make them the same",
            path.string(), theirs.alpha, theirs.rank_stabilized, own.alpha, own.rank_stabilized);
    }
    return {};
}

}  // namespace plimsoll
