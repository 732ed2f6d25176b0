// SPDX-License-Identifier: Apache-2.0
#include "core/plan/hugging_face/same_model.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "core/base/json.h"
#include "core/plan/hugging_face/hf_config.h"
#include "core/plan/json_fields.h"

namespace plimsoll {

namespace {

/// Fields of a model that say how it is trained, not what its weights compute.
constexpr std::array<std::string_view, 10> of_the_training{
    "name", "capacity_factor", "router_aux_loss", "router_z_loss",     "dropout", "init_std",
    "init", "mup_base_width",  "z_loss",          "embedding_gradient"};

Json fields_of(Model model) {
    if (model.head_dim * model.num_heads == model.hidden_size) model.head_dim = 0;
    Json fields = Json::object();
    JsonWriter writer(fields);
    visit_fields(writer, model);
    for (const std::string_view each : of_the_training) fields.erase(std::string(each));
    if (!model.moe()) fields.erase("experts_per_token");
    return fields;
}

/// What was found and the settings that mend it.
struct Difference {
    std::vector<std::string> found, settings;

    void add(const std::string& key, const Json& there, const Json& here) {
        found.push_back(fmt::format("{} is {} there and {} in the plan", key, shown(there), shown(here)));
        settings.push_back(
            fmt::format("--set {}={}", key, there.is_string() ? there.get<std::string>() : shown(there)));
    }
};

Difference difference(const ImportedModel& there, const Plan& plan) {
    Difference all;
    const Json theirs = fields_of(there.model), own = fields_of(plan.model);
    for (const auto& [key, value] : theirs.items()) {
        if (std::find(there.unsaid.begin(), there.unsaid.end(), key) != there.unsaid.end()) continue;
        if (const Json here = own.contains(key) ? own[key] : Json(); here != value)
            all.add(fmt::format("model.{}", key), value, here);
    }
    for (const KeyFinding& each : there.findings) {
        if (each.up_to == 0 || !each.applies_at(plan.data.sequence_length)) continue;
        all.found.push_back(each.sentence);
        all.settings.push_back(fmt::format("--set data.sequence_length={}", each.up_to));
    }
    return all;
}

/// What the engine does not compute of the model, whatever the plan says.
std::vector<std::string> obstacles(const ImportedModel& there) {
    std::vector<std::string> reasons;
    for (const KeyFinding& each : there.findings) {
        if (each.weight == KeyFinding::Weight::NotComputed && each.up_to == 0) reasons.push_back(each.sentence);
    }
    return reasons;
}

}  // namespace

Result<void> require_same_model(const std::filesystem::path& config, const Plan& plan, const std::string& who) {
    PLIMSOLL_TRY(const auto json, read_json(config, 4 * MiB));
    // Our checkpoints of a model that transformers has no class for once did not say its family.
    if (json.is_object() && json.value("model_type", Json()) == "plimsoll" && !json.contains("family")) return {};
    const auto there = model_of_config(json, config.string());
    if (!there) return bad_input("the engine cannot run {}: {}", who, there.error().message);
    if (const auto reasons = obstacles(*there); !reasons.empty()) {
        return bad_input("the engine cannot run {}: {}; start from the weights of another model, or from fresh ones",
                         who, fmt::join(reasons, "; "));
    }
    const Difference all = difference(*there, plan);
    if (all.found.empty()) return {};
    return bad_input("{} is not the plan's: {}; take its values with {}", who, fmt::join(all.found, "; "),
                     fmt::join(all.settings, " "));
}

std::string dtype_note(const Json& config, const Plan& plan) {
    for (const char* key : {"dtype", "torch_dtype"}) {
        const auto found = config.find(key);
        if (found == config.end() || !found->is_string()) continue;
        std::string stored = found->get<std::string>();
        if (stored.starts_with("torch.")) stored.erase(0, 6);
        constexpr std::array<std::pair<std::string_view, Dtype>, 3> names{
            {{"float32", Dtype::Fp32}, {"bfloat16", Dtype::Bf16}, {"float16", Dtype::Fp16}}};
        for (const auto& [name, dtype] : names) {
            if (stored != name || dtype == plan.numerics.dtype || plan.numerics.dtype == Dtype::Fp32) continue;
            return fmt::format(
                "{} is {} and numerics.dtype is {}: the weights are rounded to it when a run starts from them; "
                "numerics.dtype={} keeps them as they are",
                key, stored, name_of(plan.numerics.dtype), name_of(dtype));
        }
    }
    return "";
}

std::vector<std::string> weights_warnings(const std::filesystem::path& config, const Plan& plan) {
    const auto there = import_hf_config(config);
    if (!there) return {};
    std::vector<std::string> sentences;
    for (const KeyFinding& each : there->findings) {
        if (each.weight == KeyFinding::Weight::Told)
            sentences.push_back(fmt::format("{}: {}", config.string(), each.sentence));
    }
    if (std::string note = dtype_note(there->config, plan); !note.empty())
        sentences.push_back(fmt::format("{}: {}", config.string(), note));
    return sentences;
}

}  // namespace plimsoll
