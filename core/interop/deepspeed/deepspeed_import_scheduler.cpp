// SPDX-License-Identifier: Apache-2.0
// runtime/lr_schedules.py: the schedulers and their defaults.
#include "core/interop/deepspeed/deepspeed_import_parts.h"

namespace plimsoll::deepspeed {

namespace {

std::string key(std::string_view name) { return fmt::format("scheduler.params.{}", name); }

/// warmup_num_steps becomes max(2, it), and the schedule starts an update late: the first two run at the lowest rate.
void note_wasted_updates(Import& file, double lowest) {
    const LrSchedule& lr = file.plan.lr;
    if (lr.warmup_fraction > 0 || lr.warmup_steps > 1) return;
    file.notes.push_back(fmt::format(
        "scheduler.params.warmup_num_steps {} counts as 2 in DeepSpeed, and the first two updates run at {:g} of the "
        "peak{}: lr.kind constant, linear or cosine has no such updates.{}",
        lr.warmup_steps, lowest, lowest == 0 ? ", so they are wasted" : "",
        lr.warmup_steps <= 0 ? " DeepSpeed 0.19.3 and later refuse it." : ""));
}

/// The steps and the shape of the warmup; "auto" keeps those of the plan.
void read_warmup(Import& file, const LrSchedule& before) {
    LrSchedule& lr = file.plan.lr;
    lr.warmup_steps = before.warmup_steps;
    lr.warmup_shape = before.warmup_shape;
    if (file.is_auto(key("warmup_num_steps"))) lr.warmup_fraction = before.warmup_fraction;
    file.integer(key("warmup_num_steps"), lr.warmup_steps, 1000);
    if (file.is_auto(key("warmup_type"))) {
        file.autos.push_back(key("warmup_type"));
    } else {
        // Any other word than "linear" becomes "log".
        const auto type = file.text_at(key("warmup_type"));
        if (!type) file.left_out(key("warmup_type"), "log", before.warmup_shape != LrShape::Log);
        lr.warmup_shape = type.value_or("log") == "linear" ? LrShape::Linear : LrShape::Log;
    }
    if (file.is_auto(key("total_num_steps"))) {
        file.autos.push_back(key("total_num_steps"));
    } else {
        file.plan.training.steps = file.integer_at(key("total_num_steps")).value_or(file.plan.training.steps);
    }
}

/// A rate of the scheduler; "auto" is `plans`, and so is `standard` where the key is left out.
double rate(Import& file, std::string_view name, double plans, double standard) {
    double value = plans;
    file.number(key(name), value, standard);
    return value;
}

void set_peak(Plan& plan, double low, double peak) {
    if (peak > 0) plan.lr.warmup_start_ratio = low / peak;
    plan.optimizer.lr = peak;
}

void read_warmup_lr(Import& file, bool decays, const LrSchedule& before) {
    LrSchedule& lr = file.plan.lr;
    lr.kind = decays ? LrKind::DeepSpeedWarmupDecay : LrKind::DeepSpeedWarmup;
    read_warmup(file, before);
    const double own = file.plan.optimizer.lr;
    const bool follows = !decays && file.release.warmup_follows_optimizer();
    const double peak = rate(file, "warmup_max_lr", own, follows ? own : 0.001);
    set_peak(file.plan, rate(file, "warmup_min_lr", before.warmup_start_ratio * peak, 0), peak);
    note_wasted_updates(file, lr.warmup_start_ratio);
}

void read_cosine(Import& file, const LrSchedule& before) {
    LrSchedule& lr = file.plan.lr;
    lr.kind = LrKind::DeepSpeedWarmupCosine;
    read_warmup(file, before);
    lr.warmup_start_ratio = rate(file, "warmup_min_ratio", before.warmup_start_ratio, 0);
    lr.min_ratio = rate(file, "cos_min_ratio", before.min_ratio, 0.0001);
    note_wasted_updates(file, lr.warmup_start_ratio);
}

void read_one_cycle(Import& file, const LrSchedule& before) {
    LrSchedule& lr = file.plan.lr;
    lr.kind = LrKind::DeepSpeedOneCycle;
    lr.warmup_steps = before.warmup_steps;
    lr.cycle_steps = before.cycle_steps;
    lr.decay_steps = before.decay_steps;
    lr.decay_rate = before.decay_rate;
    file.integer(key("cycle_first_step_size"), lr.warmup_steps, 2000);
    file.integer(key("cycle_second_step_size"), lr.cycle_steps, 0);
    file.integer(key("decay_step_size"), lr.decay_steps, 0);
    file.number(key("decay_lr_rate"), lr.decay_rate, 0);
    const double peak = rate(file, "cycle_max_lr", file.plan.optimizer.lr, file.plan.optimizer.lr);
    set_peak(file.plan, rate(file, "cycle_min_lr", before.warmup_start_ratio * peak, 0), peak);
}

void without_scheduler(Import& file) {
    LrSchedule& lr = file.plan.lr;
    if (file.hugging_face) {
        file.notes.push_back(
            fmt::format("The file has no scheduler, so the training arguments' own is used: the plan keeps lr.kind {}.",
                        name_of(lr.kind)));
        return;
    }
    LrSchedule constant;
    constant.kind = LrKind::Constant;
    constant.warmup_steps = 0;
    constant.batch_rule = lr.batch_rule;
    constant.batch_reference = lr.batch_reference;
    if (lr != constant) {
        file.notes.push_back(
            "The file has no scheduler, so the learning rate stays as it is: lr.kind constant without a warmup. A "
            "script that gives deepspeed.initialize one of its own is for --set lr.kind to say.");
    }
    lr = constant;
}

}  // namespace

void read_scheduler(Import& file) {
    const std::string type = file.text_at("scheduler.type").value_or("");
    if (type.empty()) return without_scheduler(file);
    const LrSchedule before = file.plan.lr;
    LrSchedule& lr = file.plan.lr;
    lr = LrSchedule{};
    lr.min_ratio = before.min_ratio;
    lr.batch_rule = before.batch_rule;
    lr.batch_reference = before.batch_reference;
    if (type == "WarmupLR" || type == "WarmupDecayLR") return read_warmup_lr(file, type == "WarmupDecayLR", before);
    if (type == "WarmupCosineLR") return read_cosine(file, before);
    if (type == "OneCycle") return read_one_cycle(file, before);
    lr = before;
    file.notes.push_back(
        fmt::format("scheduler.type {} has no counterpart: the plan keeps lr.kind {}, and the file's block is kept for "
                    "the export.",
                    type, name_of(lr.kind)));
}

}  // namespace plimsoll::deepspeed
