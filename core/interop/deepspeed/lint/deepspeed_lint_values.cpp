// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "core/base/json.h"
#include "core/base/nearest.h"
#include "core/interop/deepspeed/lint/deepspeed_case.h"

namespace plimsoll::deepspeed {

namespace {

bool is_auto(const Json& value) {
    if (value.is_string()) return value == "auto";
    return value.is_array() && std::any_of(value.begin(), value.end(), [](const Json& each) { return each == "auto"; });
}

constexpr std::array<std::string_view, 3> batch_keys{"train_batch_size", "train_micro_batch_size_per_gpu",
                                                     "gradient_accumulation_steps"};
bool is_batch_key(std::string_view path) {
    return std::find(batch_keys.begin(), batch_keys.end(), path) != batch_keys.end();
}

/// Getters that use what they read at once, so that a wrong type is refused without a schema.
bool used_at_once(std::string_view path) {
    constexpr std::array<std::string_view, 11> keys{"communication_data_type",
                                                    "seq_parallel_communication_data_type",
                                                    "checkpoint.tag_validation",
                                                    "checkpoint.writer.type",
                                                    "checkpoint.writer.data_parallel",
                                                    "checkpoint.parallel_write.pipeline_stage",
                                                    "data_types.grad_accum_dtype",
                                                    "optimizer.type",
                                                    "optimizer.params",
                                                    "scheduler.type",
                                                    "gradient_allreduce_op"};
    return path == "sequence_parallel_size" || is_batch_key(path) ||
           std::find(keys.begin(), keys.end(), path) != keys.end();
}

void check_auto(Case& c, const std::string& path, bool strict) {
    const bool filled = filled_by_hugging_face(path);
    if (own_auto(path) || (c.launch.hugging_face && filled)) return;
    const std::string_view who = filled
                                     ? "only the Hugging Face Trainer and Accelerate fill it in; write the value"
                                     : "neither the Hugging Face Trainer nor Accelerate fills it in; write the value";
    const std::string_view which = c.launch.hugging_face ? "DeepSpeed" : "plain DeepSpeed";
    if (path == "steps_per_print" && c.launch.hugging_face) {
        c.danger("auto", path,
                 "nobody fills \"auto\" in here: a Trainer on Accelerate writes infinity over it, older ones leave the "
                 "string, which fails at the first step: write the number, or take it out");
    } else if (used_at_once(path)) {
        c.refused("auto", path, "\"auto\" stays a string in {}, which has another use for the value: {}", which, who);
    } else if (strict) {
        c.danger("auto", path, "{} drops \"auto\" without a word and takes its default, {}: {}", which,
                 shown(c.schema.default_in(path, c.release)), who);
    } else {
        c.danger("auto", path, "{} keeps \"auto\" as a string, which fails at the first step: {}", which, who);
    }
}

bool type_allows(const std::string& type, std::string_view word) {
    for (std::size_t begin = 0; begin <= type.size();) {
        const std::size_t end = std::min(type.find('|', begin), type.size());
        if (std::string_view(type).substr(begin, end - begin) == word) return true;
        begin = end + 1;
    }
    return false;
}

/// `nullable`: a key that is there with null counts as absent.
bool fits(const Json& value, const std::string& type, bool nullable) {
    const auto allows = [&](std::string_view word) { return type_allows(type, word); };
    if (allows("any")) return true;
    if (value.is_null()) return allows("null") || nullable;
    if (value.is_boolean()) return allows("boolean");
    if (value.is_string()) return allows("string");
    if (value.is_array()) return allows("array");
    if (value.is_object()) return allows("object");
    return allows("number") || (allows("integer") && whole(&value));
}

/// A string that a pydantic block turns into the number that was meant.
bool reads_as_number(const Json& value, bool integer) {
    const auto number = lax_number(value);
    if (!number) return false;
    const std::string& text = value.get_ref<const std::string&>();
    return !integer || text.find_first_not_of("+-0123456789") == std::string::npos;
}

void wrong_type(Case& c, const std::string& path, const DeepSpeedKey& key, const Json& value, bool strict) {
    const bool wants_integer = type_allows(key.type, "integer");
    if (value.is_number() && wants_integer) {
        const double floor = std::floor(value.get<double>());
        const bool cut_off = c.release < DeepSpeedRelease{15, 0};
        if ((strict && !cut_off) || is_batch_key(path)) {
            c.refused("fractional", path, "{} is not a whole number, which DeepSpeed asks for here: write {:.0f}",
                      shown(value), floor);
        } else {
            c.danger("fractional", path, "{} is not a whole number: write {:.0f}", shown(value), floor);
        }
        return;
    }
    if (value.is_string() && (wants_integer || type_allows(key.type, "number"))) {
        if (strict && reads_as_number(value, wants_integer)) {
            c.danger("number-as-string", path, "{} is a string, which DeepSpeed reads and others do not: write {}",
                     shown(value), value.get_ref<const std::string&>().substr(0, 40));
            return;
        }
        constexpr std::string_view cure = "write it without quotes";
        if (strict || used_at_once(path)) {
            c.refused("number-as-string", path, "{} is a string where a number belongs: {}", shown(value), cure);
        } else {
            c.danger("number-as-string", path, "{} is a string where a number belongs, which fails later: {}",
                     shown(value), cure);
        }
        return;
    }
    if (const auto meant = lax_boolean(value); meant && strict && type_allows(key.type, "boolean")) {
        c.note("boolean-as-string", path, "{} is a string, which DeepSpeed reads as {} and others do not: write {}",
               shown(value), *meant, *meant);
        return;
    }
    std::string type = key.type;
    for (std::size_t bar = type.find('|'); bar != std::string::npos; bar = type.find('|')) type.replace(bar, 1, " or ");
    if (value.is_boolean() && strict && (wants_integer || type_allows(key.type, "number"))) {
        c.danger("type", path, "{} counts as {} here, where a number belongs: write the number", shown(value),
                 value.get<bool>() ? 1 : 0);
    } else if (value.is_number() && strict && type_allows(key.type, "boolean") && (value == 0 || value == 1)) {
        c.danger("type", path, "{} counts as {} here: write it so", shown(value), value == 1 ? "true" : "false");
    } else if (strict || used_at_once(path)) {
        c.refused("type", path, "{} is of the wrong type: {} belongs here", shown(value), type);
    } else {
        c.danger("type", path, "{} is of the wrong type, which DeepSpeed does not check: {} belongs here", shown(value),
                 type);
    }
}

std::string lower(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char ch) { return std::tolower(ch); });
    return text;
}

/// Words that DeepSpeed compares without regard to case.
bool any_case(std::string_view path) {
    return path == "checkpoint.tag_validation" || path == "checkpoint.writer.type" ||
           path == "checkpoint.writer.data_parallel" || path == "communication_data_type" ||
           path == "seq_parallel_communication_data_type" || path == "gradient_allreduce_op";
}

/// Words that DeepSpeed checks although the block has no schema.
bool checked_word(std::string_view path) { return any_case(path) || path == "data_types.grad_accum_dtype"; }

void check_allowed(Case& c, const std::string& path, const DeepSpeedKey& key, const Json& value, bool strict) {
    if (key.allowed.empty() || value.is_object()) return;
    const auto same = [&](const Json& each) {
        if (each == value) return true;
        return any_case(path) && each.is_string() && value.is_string() &&
               lower(each.get<std::string>()) == lower(value.get<std::string>());
    };
    if (std::any_of(key.allowed.begin(), key.allowed.end(), same)) return;
    if (path.starts_with("data_types.") && value.is_string() && !dtype_word(value.get<std::string>()).empty()) {
        return;
    }
    std::string words;
    std::vector<std::string> names;
    for (const Json& each : key.allowed) {
        if (each.is_null()) continue;
        words += (words.empty() ? "" : ", ") + (each.is_string() ? each.get<std::string>() : each.dump());
        if (each.is_string()) names.push_back(each.get<std::string>());
    }
    const std::string near = value.is_string() ? did_you_mean(value.get<std::string>(), names) : "";
    if (strict || checked_word(path)) {
        c.refused("value", path, "{} is not possible here: write one of {}{}", shown(value), words, near);
    } else {
        c.danger("value", path, "{} is none of {}: write one of them{}", shown(value), words, near);
    }
}

void check_bounds(Case& c, const std::string& path, const DeepSpeedKey& key, const Json& value, bool strict) {
    if (!value.is_number()) return;
    const double number = value.get<double>();
    const auto outside = [&](std::string_view bound, double limit) {
        const bool checked = strict && c.release >= key.bounds_since;
        if (checked) {
            c.refused("value", path, "{} is not possible here: it has to be {} {:g}", shown(value), bound, limit);
        } else {
            c.danger("value", path, "{} makes no sense here: it has to be {} {:g}", shown(value), bound, limit);
        }
    };
    if (key.min && number < *key.min) outside("at least", *key.min);
    if (key.max && number > *key.max) outside("at most", *key.max);
    if (key.above && number <= *key.above) outside("above", *key.above);
    if (key.below && number >= *key.below) outside("below", *key.below);
}

}  // namespace

bool own_auto(std::string_view path) {
    return path == "pipeline.stages" || path == "data_types.keep_in_fp32_modules" ||
           path.starts_with("zero_optimization.zenflow.") || path.starts_with("expert_parallel.");
}

std::optional<bool> lax_boolean(const Json& value) {
    if (!value.is_string()) return std::nullopt;
    const std::string word = lower(value.get<std::string>());
    constexpr std::array<std::string_view, 6> yes{"true", "1", "on", "t", "y", "yes"};
    constexpr std::array<std::string_view, 6> no{"false", "0", "off", "f", "n", "no"};
    if (std::find(yes.begin(), yes.end(), word) != yes.end()) return true;
    if (std::find(no.begin(), no.end(), word) != no.end()) return false;
    return std::nullopt;
}

std::optional<double> lax_number(const Json& value) {
    if (!value.is_string()) return std::nullopt;
    const std::string& text = value.get_ref<const std::string&>();
    double number = 0;
    const char* end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, number);
    if (read.ec != std::errc{} || read.ptr != end) return std::nullopt;
    return number;
}

// transformers 5.24, integrations/deepspeed.py: trainer_config_process and trainer_config_finalize; accelerate 1.15,
// utils/dataclasses.py: plugin_to_config_mapping and set_mixed_precision, accelerator.py: _prepare_deepspeed.
bool filled_by_hugging_face(std::string_view path) {
    constexpr std::array<std::string_view, 20> filled{"gradient_clipping",
                                                      "optimizer.params.lr",
                                                      "optimizer.params.betas",
                                                      "optimizer.params.eps",
                                                      "optimizer.params.weight_decay",
                                                      "scheduler.params.warmup_min_lr",
                                                      "scheduler.params.warmup_max_lr",
                                                      "scheduler.params.warmup_num_steps",
                                                      "scheduler.params.total_num_steps",
                                                      "fp16.enabled",
                                                      "bf16.enabled",
                                                      "zero_optimization.stage",
                                                      "zero_optimization.reduce_bucket_size",
                                                      "zero_optimization.stage3_prefetch_bucket_size",
                                                      "zero_optimization.stage3_param_persistence_threshold",
                                                      "zero_optimization.stage3_gather_16bit_weights_on_model_save",
                                                      "zero_optimization.offload_optimizer.device",
                                                      "zero_optimization.offload_optimizer.nvme_path",
                                                      "zero_optimization.offload_param.device",
                                                      "zero_optimization.offload_param.nvme_path"};
    return is_batch_key(path) || std::find(filled.begin(), filled.end(), path) != filled.end();
}

bool lint_auto(Case& c, const std::string& path, const Json& value, bool strict) {
    if (!is_auto(value)) return false;
    check_auto(c, path, strict);
    return true;
}

void lint_value(Case& c, const std::string& path, const Json& value, bool strict) {
    if (value.is_null() && (path == "torch_autocast.dtype" || path == "torch_autocast.lower_precision_safe_modules")) {
        c.refused("type", path, "null is not possible here: write a value, or take it out");
        return;
    }
    if (path == "torch_autocast.dtype" && (!value.is_string() || dtype_word(value.get<std::string>()).empty())) {
        c.refused("value", path, "{} is no dtype: write one of bfloat16, float16, float32", shown(value));
        return;
    }
    if (lint_auto(c, path, value, strict)) return;
    const DeepSpeedKey* key = c.schema.find(path);
    if (!key) return;
    if (path == "zero_optimization.offload_param" || path == "zero_optimization.offload_optimizer") {
        if (!value.is_object() && !value.is_null()) {
            c.refused("type", path, R"({} is not a block: write {{"device": "cpu"}})", shown(value));
        }
        return;
    }
    if (path == "data_types.keep_in_fp32_modules" && value.is_string()) {
        c.refused("value", path, "{} is not possible here: write \"auto\" or a list of patterns", shown(value));
        return;
    }
    if (!fits(value, key->type, !strict && key->default_value.is_null())) {
        wrong_type(c, path, *key, value, strict);
        return;
    }
    check_allowed(c, path, *key, value, strict);
    check_bounds(c, path, *key, value, strict);
    if (!key->replaced_by.empty()) {
        c.deprecated("deprecated", path, "this is an old name, which a later release may drop: write {}",
                     key->replaced_by);
    }
}

}  // namespace plimsoll::deepspeed
