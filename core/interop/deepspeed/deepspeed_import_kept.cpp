// SPDX-License-Identifier: Apache-2.0
// What the plan has no field for, and what is said of it.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/nearest.h"
#include "core/interop/deepspeed/deepspeed_import_parts.h"
#include "core/interop/deepspeed/deepspeed_kept_effect.h"
#include "core/interop/deepspeed/lint/deepspeed_case.h"

namespace plimsoll::deepspeed {

namespace {

bool has_type(const Json& block) {
    return block.is_object() && block.contains("type") && block.at("type").is_string() && block.at("type") != "auto";
}

/// Keys whose values the plan decides: a difference becomes a note and is not kept.
bool is_the_plans(const std::string& path) {
    constexpr std::array<std::string_view, 8> prefixes{"optimizer",
                                                       "scheduler",
                                                       "train_",
                                                       "gradient_accumulation",
                                                       "gradient_clipping",
                                                       "fp16.",
                                                       "tensor_parallel.autotp_size",
                                                       "expert_parallel"};
    constexpr std::array<std::string_view, 5> keys{"zero_optimization.stage", "bf16.enabled",
                                                   "data_types.grad_accum_dtype", "communication_data_type",
                                                   "zero_optimization.offload_optimizer.device"};
    return std::any_of(prefixes.begin(), prefixes.end(),
                       [&](std::string_view each) { return path.starts_with(each); }) ||
           std::find(keys.begin(), keys.end(), path) != keys.end();
}

/// A block whose type differs from the export's, which the plan cannot express.
bool is_another(const Json& block, const Json* exported) {
    if (!exported || !has_type(*exported)) return true;
    const std::string type = small_letters(block.at("type").get<std::string>()),
                      there = small_letters(exported->at("type"));
    return type != there && !(type == "adam" && there == "adamw");
}

class Leftovers {
public:
    explicit Leftovers(Import& file) : file_(file) {}

    /// The block's entries that the export lacks or has with other values.
    Json of(const Json& block, const Json& exported, const std::string& path) {
        Json kept = Json::object();
        for (const auto& [key, value] : block.items()) {
            const std::string here = joined_key(path, key);
            const Json* there = exported.is_object() && exported.contains(key) ? &exported.at(key) : nullptr;
            if (path.empty() && (key == "optimizer" || key == "scheduler")) {
                if (add_typed(kept, key, value, there)) continue;
            }
            if (there && *there == value) continue;
            if (says_auto(value) && !own_auto(here)) {
                add_auto(kept, key, here);
                continue;
            }
            if (value.is_object() && (there ? there->is_object() : !is_the_plans(here))) {
                Json inner = of(value, there ? *there : Json::object(), here);
                if (!inner.empty() || (!there && value.empty())) kept[key] = std::move(inner);
                continue;
            }
            if (is_more(here, there) || !is_the_plans(here)) {
                kept[key] = value;
            } else if (!alike(there, value) && (there || file_.schema.default_in(here, file_.release) != value)) {
                file_.notes.push_back(fmt::format("{} is {} in the file and {} in an export of the plan.", here,
                                                  shown(value), there ? shown(*there) : "left out"));
            }
        }
        return kept;
    }

private:
    /// Settings of a block of the plan's that the plan has no field for.
    static bool is_more(const std::string& path, const Json* there) {
        return !there && (path.starts_with("optimizer.params.") || path.starts_with("scheduler.params.") ||
                          path.starts_with("fp16.") || path.starts_with("expert_parallel."));
    }

    static bool alike(const Json* there, const Json& value) {
        return there && there->is_number() && value.is_number() &&
               std::abs(there->get<double>() - value.get<double>()) <= 1e-12 * std::abs(value.get<double>());
    }

    /// An optimizer or scheduler that DeepSpeed ignores, or one that the plan cannot express.
    bool add_typed(Json& kept, const std::string& key, const Json& value, const Json* there) {
        if (!value.is_object()) return false;
        if (!has_type(value)) {
            if (!value.empty())
                file_.notes.push_back(
                    fmt::format("{} has no type, so DeepSpeed ignores it: it is left out of an export.", key));
            return true;
        }
        if (!is_another(value, there)) return false;
        kept[key] = value;
        if (value.contains("params") && value.at("params").is_object())
            kept[key]["params"] = without_auto(value.at("params"), key);
        return true;
    }

    /// Parameters of a kept block; "auto" becomes the plan's value, or goes where the plan has none.
    Json without_auto(const Json& params, const std::string& block) {
        const Optimizer& optimizer = file_.plan.optimizer;
        Json out = Json::object();
        for (const auto& [name, value] : params.items()) {
            const std::string path = fmt::format("{}.params.{}", block, name);
            if (!says_auto(value)) {
                out[name] = value;
                continue;
            }
            remember(path);
            if (name == "lr" || name == "warmup_max_lr") out[name] = optimizer.lr;
            if (name == "weight_decay") out[name] = optimizer.weight_decay;
            if (name == "eps") out[name] = optimizer.eps;
            if (name == "betas") out[name] = {optimizer.beta1, optimizer.beta2};
            if (name == "total_num_steps") out[name] = file_.plan.training.steps;
            if (name == "warmup_num_steps") out[name] = std::max<std::int64_t>(file_.plan.lr.warmup_steps, 2);
        }
        return out;
    }

    void remember(const std::string& path) {
        if (std::find(file_.autos.begin(), file_.autos.end(), path) == file_.autos.end()) file_.autos.push_back(path);
    }

    /// "auto" stays in no export: the export's own value stands there. The Trainer makes this bucket of the hidden size.
    void add_auto(Json& kept, const std::string& key, const std::string& path) {
        remember(path);
        const std::int64_t hidden = file_.plan.model.hidden_size;
        if (path == "zero_optimization.reduce_bucket_size") kept[key] = hidden * hidden;
    }

    Import& file_;
};

/// DeepSpeed's own value of a key that the file leaves out; null where it has none.
Json default_of(const Import& file, const std::string& path, std::int64_t stage) {
    if (path == "zero_optimization.overlap_comm") return stage == 3;  // zero/config.py, overlap_comm_valid
    return file.schema.default_in(path, file.release);
}

/// Defaults of keys that the file leaves out and the export writes with other values.
void add_defaults(Import& file, const Json& exported, const std::string& path, std::int64_t stage, Json& kept) {
    for (const auto& [name, value] : exported.items()) {
        const std::string here = joined_key(path, name);
        if (here == "zero_optimization.stage" || here == "bf16.enabled" || file.is_auto(here)) continue;
        if (value.is_object()) {
            if (!file.at(here)) continue;
            Json inner = kept.contains(name) ? kept.at(name) : Json::object();
            add_defaults(file, value, here, stage, inner);
            if (!inner.empty()) kept[name] = std::move(inner);
            continue;
        }
        if (!file.absent(here)) continue;
        const Json standard = default_of(file, here, stage);
        if (standard.is_null() || standard == value) continue;
        kept[name] = standard;
        file.left_out(here, standard, true);
    }
}

void add_block_defaults(Import& file, const Json& exported, const char* block, Json& kept) {
    if (!exported.contains(block) || !exported.at(block).is_object()) return;
    const auto stage = exported.at("zero_optimization").value("stage", std::int64_t{0});
    Json inner = kept.contains(block) && kept.at(block).is_object() ? kept.at(block) : Json::object();
    add_defaults(file, exported.at(block), block, stage, inner);
    if (!inner.empty()) kept[block] = std::move(inner);
}

void add_scheduler_defaults(Import& file, Json& kept) {
    constexpr const char* momentum = "scheduler.params.cycle_momentum";
    if (file.plan.lr.kind == LrKind::DeepSpeedOneCycle && file.absent(momentum)) {
        kept["scheduler"]["params"]["cycle_momentum"] = true;
        file.notes.push_back(
            "scheduler.params.cycle_momentum is true where the file says nothing: OneCycle then moves beta1 too, which "
            "the plan has no field for. It is kept for the export.");
    }
    // No scheduler is DeepSpeed's constant rate: an export adds none.
    if (!file.hugging_face && !file.at("scheduler.type")) kept["scheduler"] = nullptr;
}

struct Sorted {
    std::vector<std::string> training, quiet, unknown;
};

std::string unread(const Import& file, const std::string& path) {
    const auto dot = path.rfind('.');
    const std::string block = dot == std::string::npos ? "" : path.substr(0, dot);
    return path + did_you_mean(path.substr(dot == std::string::npos ? 0 : dot + 1), file.schema.names_in(block));
}

/// Whether the block that the key stands in is off, so that it acts on nothing.
bool is_off(const Import& file, std::string_view path) {
    const Numerics& numerics = file.plan.numerics;
    if (path.starts_with("fp16.")) return numerics.dtype != Dtype::Fp16;
    if (path.starts_with("bf16.")) return numerics.dtype != Dtype::Bf16;
    for (const std::string_view block : {"hybrid_engine", "torch_autocast", "data_efficiency"}) {
        if (path.starts_with(block)) return !file.flag_at(fmt::format("{}.enabled", block)).value_or(false);
    }
    return false;
}

void sort_kept(const Import& file, const Json& kept, const std::string& path, Sorted& sorted) {
    for (const auto& [name, value] : kept.items()) {
        const std::string here = joined_key(path, name);
        if (file.schema.removed(here)) continue;  // note_refused
        const DeepSpeedKey* key = file.schema.find(here);
        if (value.is_object() && !value.empty() && (!key || kept_effect(here) == KeptEffect::Training)) {
            sort_kept(file, value, here, sorted);
            continue;
        }
        const auto effect = kept_effect(here);
        if (effect == KeptEffect::Plan || here == "optimizer" || here == "scheduler") continue;
        const bool of_params = here.starts_with("optimizer.params.") || here.starts_with("scheduler.params.");
        const bool free = key || of_params || file.schema.names_in(path).empty();
        if (!effect || (!free && file.schema.presence(here, file.release) == DeepSpeedPresence::Unknown)) {
            sorted.unknown.push_back(unread(file, here));
        } else if (effect != KeptEffect::Training || is_off(file, here)) {
            sorted.quiet.push_back(here);
        } else if (!key || file.schema.default_in(here, file.release) != value) {
            sorted.training.push_back(key && !key->meaning.empty()
                                          ? fmt::format("{} {} ({})", here, shown(value), key->meaning)
                                          : fmt::format("{} {}", here, shown(value)));
        }
    }
}

void note_kept(Import& file, const Json& kept) {
    Sorted sorted;
    sort_kept(file, kept, "", sorted);
    if (!sorted.training.empty()) {
        file.notes.push_back(fmt::format(
            "No field of the plan says it, so the estimate and Plimsoll's own engine leave it out; it is kept "
            "for the export: {}.",
            fmt::join(sorted.training, "; ")));
    }
    if (!sorted.quiet.empty()) {
        file.notes.push_back(
            fmt::format("Kept for the export, and without effect on the result (reports, files, buffers): {}.",
                        fmt::join(sorted.quiet, ", ")));
    }
    if (!sorted.unknown.empty()) {
        file.notes.push_back(fmt::format("DeepSpeed has no such key, so nobody reads it; it is kept all the same: {}.",
                                         fmt::join(sorted.unknown, ", ")));
    }
}

}  // namespace

Json what_is_kept(Import& file, const Json& exported) {
    Json kept = Leftovers(file).of(file.file, exported, "");
    note_kept(file, kept);
    add_block_defaults(file, exported, "zero_optimization", kept);
    add_block_defaults(file, exported, "bf16", kept);
    add_scheduler_defaults(file, kept);
    return kept;
}

void note_decisions(Import& file) {
    if (!file.autos.empty()) {
        file.notes.push_back(fmt::format("\"auto\" is the training argument's, so the plan's own value stands: {}.",
                                         fmt::join(file.autos, ", ")));
    }
    if (!file.defaults.empty()) {
        file.notes.push_back(fmt::format("The file leaves out, and DeepSpeed {} then takes: {}.", file.release.text(),
                                         fmt::join(file.defaults, ", ")));
    }
}

}  // namespace plimsoll::deepspeed
