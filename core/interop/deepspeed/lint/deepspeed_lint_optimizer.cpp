// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "core/base/json.h"
#include "core/base/nearest.h"
#include "core/interop/deepspeed/lint/deepspeed_case.h"

namespace plimsoll::deepspeed {

namespace {

/// engine.py: names that it knows in any case.
constexpr std::array<std::string_view, 9> own_types{"adagrad", "adam",    "adamw", "lamb", "lion",
                                                    "muadam",  "muadamw", "muon",  "musgd"};
constexpr std::array<std::string_view, 3> dropped_types{"onebitadam", "onebitlamb", "zerooneadam"};
/// zero/utils.py: those that ZeRO takes without being told.
constexpr std::array<std::string_view, 5> tested_with_zero{"adagrad", "adam", "adamw", "lion", "muon"};
/// Keys of params that the engine takes out before it calls the constructor.
constexpr std::array<std::string_view, 3> engine_keys{"torch_adam", "adam_w_mode", "fp32_optimizer_states"};

template <std::size_t N>
bool one_of(const std::array<std::string_view, N>& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

/// As the engine compares it: in small letters where it is one of DeepSpeed's own.
std::string type_of(const std::string& written) {
    std::string small = written;
    std::transform(small.begin(), small.end(), small.begin(), [](unsigned char ch) { return std::tolower(ch); });
    return one_of(own_types, small) || one_of(dropped_types, small) ? small : written;
}

/// The class that the engine makes, by its name in the schema; "" where its arguments are not known.
std::string class_of(const Case& c, const std::string& type, const Json& params) {
    const bool on_cpu = c.offload("offload_optimizer") != "none";
    if (type == "adam" || type == "adamw") {
        if (params.value("torch_adam", Json(false)) == true) {
            return type == "adamw" || params.value("adam_w_mode", Json(true)) != false ? "torch.optim.AdamW"
                                                                                       : "torch.optim.Adam";
        }
        return on_cpu ? "DeepSpeedCPUAdam" : "FusedAdam";
    }
    if (type == "lion") return on_cpu ? "DeepSpeedCPULion" : "FusedLion";
    if (type == "adagrad") return on_cpu ? "DeepSpeedCPUAdagrad" : "torch.optim.Adagrad";
    if (type == "lamb") return "FusedLamb";
    return one_of(own_types, type) ? "" : fmt::format("torch.optim.{}", type);
}

/// runtime/config.py of the releases: the first that has the type; the others are older than 0.9.0.
DeepSpeedRelease first_with(const std::string& type) {
    if (type == "lion") return {11, 0};
    if (type == "muon") return {17, 6};
    return type.starts_with("mu") ? DeepSpeedRelease{10, 2} : DeepSpeedRelease{};
}

bool known_type(const Case& c, const std::string& type) {
    if (one_of(own_types, type)) return c.release >= first_with(type);
    if (one_of(dropped_types, type)) return c.release < DeepSpeedRelease{19, 7};
    return c.schema.optimizer_arguments(fmt::format("torch.optim.{}", type)) != nullptr;
}

/// FusedAdam raises; DeepSpeedCPUAdam does since 0.19.8 and trained as if it were false before (ops/adam).
void check_amsgrad(Case& c, const std::string& made, const Json& params) {
    if (params.value("amsgrad", Json(false)) != true) return;
    constexpr const char* key = "optimizer.params.amsgrad";
    constexpr std::string_view cure = "take it out, or write \"torch_adam\": true";
    if (made == "FusedAdam" || (made == "DeepSpeedCPUAdam" && c.release >= DeepSpeedRelease{19, 8})) {
        c.refused("amsgrad", key, "{} has no AMSGrad variant: {}", made, cure);
    } else if (made == "DeepSpeedCPUAdam") {
        c.ignored("amsgrad", key, "{} has no AMSGrad variant and says nothing: {}", made, cure);
    }
}

void check_params(Case& c, const std::string& type, const Json& params) {
    const std::string made = class_of(c, type, params);
    check_amsgrad(c, made, params);
    const std::vector<std::string>* arguments = c.schema.optimizer_arguments(made);
    for (const auto& [name, value] : params.items()) {
        const std::string key = fmt::format("optimizer.params.{}", name);
        if (name == "max_grad_norm") {
            c.refused("max-grad-norm", key, "DeepSpeed refuses it here: write \"gradient_clipping\" at the top level");
        } else if (arguments && !one_of(engine_keys, name) &&
                   std::find(arguments->begin(), arguments->end(), name) == arguments->end()) {
            c.refused("optimizer-argument", key, "{} has no such argument: {}", made,
                      name == "beta1" || name == "beta2" ? "write \"betas\": [b1, b2]"
                      : nearest_name(name, *arguments).empty()
                          ? fmt::format("its own are {}", fmt::join(*arguments, ", "))
                          : fmt::format("did you mean \"{}\"?", nearest_name(name, *arguments)));
        } else if (value.is_string() && value != "auto" && (name == "lr" || name == "eps" || name == "weight_decay")) {
            c.refused("number-as-string", key, "{} is a string where a number belongs: write it without quotes",
                      shown(value));
        }
    }
}

void check_client_optimizer(Case& c) {
    if (c.offload("offload_optimizer") == "none" || !c.flag("zero_force_ds_cpu_optimizer")) return;
    if (c.launch.hugging_face) {
        c.note("client-optimizer", "zero_optimization.offload_optimizer",
               "the Trainer makes DeepSpeedCPUAdam where the file has no optimizer");
        return;
    }
    c.danger(
        "client-optimizer", "zero_optimization.offload_optimizer",
        "there is no optimizer in the file, and with offload the script's has to be DeepSpeedCPUAdam "
        "(ZeRORuntimeException otherwise): write an \"optimizer\" block, or \"zero_force_ds_cpu_optimizer\": false");
}

}  // namespace

void lint_optimizer(Case& c) {
    const Json* block = c.at("optimizer");
    if (!block || !block->is_object() || block->empty()) {
        check_client_optimizer(c);
        return;
    }
    if (!block->contains("type") || !(*block)["type"].is_string()) {
        c.ignored("optimizer-type", "optimizer.type",
                  "an optimizer without \"type\" is ignored in silence: write the type, such as AdamW");
        check_client_optimizer(c);
        return;
    }
    const std::string written = (*block)["type"].get<std::string>(), type = type_of(written);
    if (!known_type(c, type)) {
        std::vector<std::string> names = c.schema.torch_optimizers();
        names.insert(names.end(), own_types.begin(), own_types.end());
        const bool dropped = one_of(dropped_types, type);
        c.refused("optimizer-type", "optimizer.type", "DeepSpeed {} has no optimizer {}: {}", c.release.text(),
                  shown(Json(written)),
                  dropped ? "the 1-bit optimizers are gone since 0.19.7; write AdamW"
                  : nearest_name(written, names).empty()
                      ? fmt::format("its own are {}; or a class of torch.optim", fmt::join(own_types, ", "))
                      : fmt::format("did you mean \"{}\"?", nearest_name(written, names)));
        return;
    }
    const Json none = Json::object();
    const Json* given = c.at("optimizer.params");
    const Json& params = given && given->is_object() ? *given : none;
    check_params(c, type, params);
    if (type == "adam" && params.value("adam_w_mode", Json(true)) != false) {
        c.note("adam-is-adamw", "optimizer.type",
               "Adam decays weights as AdamW does: write AdamW, or \"adam_w_mode\": false for Adam's own way");
    }
    if (one_of(dropped_types, type) && c.stage() > 0) {
        c.refused("optimizer-type", "optimizer.type", "the 1-bit optimizers do not go with ZeRO: write AdamW");
    }
    if (c.stage() > 0 && !one_of(tested_with_zero, type) && !c.flag("zero_allow_untested_optimizer")) {
        c.refused("untested-optimizer", "optimizer.type",
                  "{} was not tested with ZeRO: write \"zero_allow_untested_optimizer\": true", written);
    }
    if (type == "lamb" && !c.dynamic_scale()) {
        c.refused("lamb", "optimizer.type",
                  "DeepSpeed's LAMB needs fp16 with a dynamic loss scale: turn fp16 on, or make LAMB in the script");
    }
}

}  // namespace plimsoll::deepspeed
