// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/base/json.h"
#include "core/base/nearest.h"
#include "core/interop/deepspeed/lint/deepspeed_case.h"

namespace plimsoll::deepspeed {

namespace {

bool contains(const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

std::string scheduler_key(std::string_view name) { return fmt::format("scheduler.params.{}", name); }

void check_arguments(Case& c, const std::string& type, const Json& params) {
    const DeepSpeedSchema::SchedulerArguments& arguments = *c.schema.scheduler_arguments(type);
    for (const std::string& name : arguments.required) {
        if (!params.contains(name)) c.refused("scheduler-argument", scheduler_key(name), "{} needs it: write it", type);
    }
    std::vector<std::string> all = arguments.required;
    all.insert(all.end(), arguments.optional.begin(), arguments.optional.end());
    for (const auto& [name, value] : params.items()) {
        if (contains(all, name)) continue;
        const std::string near = nearest_name(name, all);
        c.refused("scheduler-argument", scheduler_key(name), "{} has no such argument: {}", type,
                  near.empty() ? fmt::format("its own are {}", fmt::join(all, ", "))
                               : fmt::format("did you mean \"{}\"?", near));
    }
}

/// lr_schedules.py: warmup_num_steps becomes max(2, it), and the schedule starts one update late.
void check_warmup_steps(Case& c, const std::string& type, const Json& warmup) {
    const std::string key = scheduler_key("warmup_num_steps");
    if (!warmup.is_number()) return;
    // hjson makes 10.0 a whole number, the JSON reader of the Trainer does not.
    const bool is_whole = c.launch.hugging_face ? warmup.is_number_integer() : whole(&warmup).has_value();
    if (!is_whole || warmup <= 0) {
        constexpr std::string_view cure = "write at least 2, or no scheduler for a rate without a warmup";
        if (c.release.refuses_no_warmup()) {
            c.refused("warmup-steps", key,
                      "{} is not a whole number above 0, which DeepSpeed asks for since 0.19.3: {}", shown(warmup),
                      cure);
            return;
        }
        if (!is_whole) {
            c.danger("warmup-steps", key, "{} is not a whole number, which DeepSpeed refuses since 0.19.3: {}",
                     shown(warmup), cure);
            return;
        }
    }
    if (warmup >= 2) return;
    c.danger(
        "wasted-updates", key,
        "{} counts as 2, and the first two updates run at the lowest rate ({}), so they are wasted where that is 0: "
        "write no scheduler for a constant rate, or a warmup that is meant{}",
        shown(warmup), type == "WarmupCosineLR" ? "0, then warmup_min_ratio" : "warmup_min_lr",
        warmup <= 0 ? "; 0.19.3 and later refuse it" : "");
}

void check_warmup(Case& c, const std::string& type, const Json& params) {
    const Json kind = params.value("warmup_type", Json());
    if (kind.is_null()) {
        c.note("warmup-type", scheduler_key("warmup_type"),
               "left out, the warmup is logarithmic: write \"linear\" or \"log\"");
    } else if (kind != "log" && kind != "linear" && kind != "auto") {
        c.danger("warmup-type", scheduler_key("warmup_type"),
                 "{} is neither log nor linear and becomes log: write one of them", shown(kind));
    }
    check_warmup_steps(c, type, params.value("warmup_num_steps", Json()));
    if (type == "WarmupCosineLR") return;
    const Json peak = params.value("warmup_max_lr", Json());
    const Json* rate = c.at("optimizer.params.lr");
    if (peak.is_null() || (peak.is_string() && peak == "auto")) {
        const bool follows = type == "WarmupLR" && c.release.warmup_follows_optimizer();
        const std::string sentence =
            type == "WarmupLR"
                ? "left out, the peak is 0.001 up to release 0.17.1 and the optimizer's lr since: write it"
                : "left out, the peak is 0.001, whatever the optimizer's lr is: write it";
        if (follows || peak == "auto") {
            if (peak.is_null()) c.note("warmup-max-lr", scheduler_key("warmup_max_lr"), "{}", sentence);
        } else {
            c.danger("warmup-max-lr", scheduler_key("warmup_max_lr"), "{}", sentence);
        }
    } else if (peak.is_number() && rate && rate->is_number() && *rate != peak) {
        c.danger(
            "first-rate", scheduler_key("warmup_max_lr"),
            "the scheduler rises to {}, and the optimizer's lr of {} is used by the first update at most: write one "
            "number in both places",
            shown(peak), shown(*rate));
    }
}

void check_steps(Case& c, const Json& params) {
    const Json total = params.value("total_num_steps", Json()), warmup = params.value("warmup_num_steps", Json(1000));
    if (!total.is_number()) return;
    if (warmup.is_number() && warmup > total) {
        c.danger("warmup-steps", scheduler_key("warmup_num_steps"),
                 "the warmup of {} steps is longer than the run of {}: shorten it", shown(warmup), shown(total));
    }
    const double micro_batches =
        c.lint.batch ? static_cast<double>(c.lint.batch->accumulation) * total.get<double>() : 0;
    c.note("step-unit", scheduler_key("total_num_steps"), "steps are optimizer updates{}, not micro-batches nor epochs",
           micro_batches > 0 ? fmt::format(" ({} of them are {:.0f} micro-batches a rank)", shown(total), micro_batches)
                             : "");
}

}  // namespace

void lint_scheduler(Case& c) {
    const Json* block = c.at("scheduler");
    if (!block || !block->is_object() || block->empty()) return;
    if (!block->contains("type") || !(*block)["type"].is_string()) {
        c.ignored("scheduler-type", "scheduler.type",
                  "a scheduler without \"type\" is ignored in silence: write the type, such as WarmupLR");
        return;
    }
    const std::string type = (*block)["type"].get<std::string>();
    if (const auto* known = c.schema.scheduler_arguments(type); known && c.release < known->since) {
        c.refused("scheduler-type", "scheduler.type", "DeepSpeed {} has no scheduler {}, which came with {}: write {}",
                  c.release.text(), type, known->since.text(), "WarmupDecayLR");
        return;
    }
    if (!c.schema.scheduler_arguments(type)) {
        const std::vector<std::string> names = c.schema.schedulers();
        c.refused("scheduler-type", "scheduler.type", "DeepSpeed has no scheduler {}: {}", shown(Json(type)),
                  nearest_name(type, names).empty()
                      ? "its own are LRRangeTest, OneCycle, WarmupLR, WarmupDecayLR and WarmupCosineLR"
                      : fmt::format("did you mean \"{}\"?", nearest_name(type, names)));
        return;
    }
    const Json none = Json::object();
    const Json* given = c.at("scheduler.params");
    const Json& params = given && given->is_object() ? *given : none;
    check_arguments(c, type, params);
    if (type.starts_with("Warmup")) check_warmup(c, type, params);
    check_steps(c, params);
    if (type == "WarmupCosineLR" && c.release < DeepSpeedRelease{19, 3}) {
        c.danger("cosine-end", "scheduler.type",
                 "before 0.19.3 the rate rises again after total_num_steps: stop there");
    }
    if (!c.has("optimizer.type")) {
        c.note("scheduler-optimizer", "scheduler", "the file has no optimizer: the script's own is scheduled");
    }
}

}  // namespace plimsoll::deepspeed
