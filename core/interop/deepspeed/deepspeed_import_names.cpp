// SPDX-License-Identifier: Apache-2.0
// One name for each key: DeepSpeed reads several under two, and refuses a file that has both.
#include <array>

#include "core/interop/deepspeed/deepspeed_import_parts.h"

namespace plimsoll::deepspeed {

namespace {

struct Renamer {
    std::vector<std::string> renamed;
    void add(std::string_view old, std::string_view now) { renamed.push_back(fmt::format("{} as {}", old, now)); }
};

/// DeepSpeed refuses a block that has both.
void require_alone(const Json& block, const std::string& path, const std::string& old, const std::string& now) {
    if (!block.contains(now)) return;
    stop("{} and {} stand side by side in {}, which DeepSpeed refuses, since they are one key: take one of them out",
         old, now, path);
}

/// "cpu_offload": true -> "offload_optimizer": {"device": "cpu"} (runtime/zero/config.py, new_param_fn).
bool renames_offload(const Json& zero, const std::string& name, const Json& value, Json& out, Renamer& names) {
    constexpr std::array<std::array<const char*, 2>, 2> switches{
        {{"cpu_offload", "offload_optimizer"}, {"cpu_offload_param", "offload_param"}}};
    for (const auto& [old, now] : switches) {
        if (name != old || !(value.is_boolean() || value.is_null())) continue;
        require_alone(zero, "zero_optimization", name, now);
        if (value == true) {
            out[now] = {{"device", "cpu"}};
            names.add(joined_key("zero_optimization", name), joined_key("zero_optimization", now));
        } else {
            names.add(joined_key("zero_optimization", name), "nothing, since it is off");
        }
        return true;
    }
    return false;
}

Json renamed_zero(const Json& zero, const DeepSpeedSchema& schema, Renamer& names) {
    Json out = Json::object();
    for (const auto& [name, value] : zero.items()) {
        if (renames_offload(zero, name, value, out, names)) continue;
        const DeepSpeedKey* key = schema.find(joined_key("zero_optimization", name));
        std::string now;
        if (key && key->also == name) now = key->key.substr(key->key.rfind('.') + 1);
        if (name == "stage3_gather_fp16_weights_on_model_save") now = "stage3_gather_16bit_weights_on_model_save";
        if (now.empty()) {
            out[name] = value;
            continue;
        }
        require_alone(zero, "zero_optimization", name, now);
        out[now] = value;
        names.add(joined_key("zero_optimization", name), joined_key("zero_optimization", now));
    }
    return out;
}

}  // namespace

Json under_todays_names(const Json& file, const DeepSpeedSchema& schema, std::vector<std::string>& notes) {
    Renamer names;
    Json out = Json::object();
    for (const auto& [name, value] : file.items()) {
        if (name == "bfloat16" && !file.contains("bf16")) {
            out["bf16"] = value;
            names.add(name, "bf16");
        } else if (name == "zero_optimization" && value.is_boolean()) {
            out[name] = {{"stage", value == true ? 1 : 0}};
            if (value == true && file.contains("allgather_size"))
                out[name]["allgather_bucket_size"] = file.at("allgather_size");
            names.add(fmt::format("zero_optimization {}", shown(value)), "zero_optimization.stage");
        } else if (name == "zero_optimization" && value.is_object()) {
            out[name] = renamed_zero(value, schema, names);
        } else if (name != "allgather_size" || !file.contains("zero_optimization") ||
                   file.at("zero_optimization") != true) {
            out[name] = value;
        }
    }
    if (!names.renamed.empty())
        notes.push_back(
            fmt::format("Old or second names are exported under today's: {}.", fmt::join(names.renamed, ", ")));
    return out;
}

}  // namespace plimsoll::deepspeed
