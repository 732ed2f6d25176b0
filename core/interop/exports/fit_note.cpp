// SPDX-License-Identifier: Apache-2.0
#include "core/interop/exports/fit_note.h"

#include <algorithm>
#include <array>

#include "core/frameworks/error_model.h"
#include "core/frameworks/estimate_under.h"

namespace plimsoll::exports {

namespace {

std::string risk_text(double chance) {
    if (chance > 0.999) return "above 99.9 %";
    return fmt::format("{:.{}f} %", 100 * chance, chance < 0.1 ? 1 : 0);
}

}  // namespace

std::optional<Framework> framework_of(const Plan& plan, std::string_view target) {
    const bool sharded = plan.layout.zero_stage > 0;
    const auto is_one_of = [&](std::initializer_list<std::string_view> names) {
        return std::find(names.begin(), names.end(), target) != names.end();
    };
    if (is_one_of({"deepspeed", "accelerate", "deepspeed-launcher"})) return Framework::DeepSpeed;
    if (target == "megatron") return Framework::Megatron;
    if (is_one_of({"torchtitan", "torchtitan-0.3"})) return Framework::TorchTitan;
    if (target == "accelerate-fsdp") return sharded ? Framework::TorchTitan : Framework::HfTrainer;
    // Each of these takes ds.json where the plan shards.
    if (is_one_of({"transformers", "llama-factory", "axolotl"}))
        return sharded ? Framework::DeepSpeed : Framework::HfTrainer;
    return std::nullopt;
}

std::optional<std::string> fit_note(const Plan& plan, Framework framework) {
    if (plan.cluster.on_cpu()) return std::nullopt;
    const std::string_view title = profile_of(framework).title;
    const auto memory = estimate_under(framework, plan);
    if (!memory) return fmt::format("Memory under {} is not estimated: {}.", title, memory.error().message);
    const Bytes peak = memory->fullest().total();
    const double chance = out_of_memory_probability(framework, peak, memory->usable, true);
    if (memory->fits() && chance <= told_out_of_memory_chance) return std::nullopt;
    return fmt::format(
        "{} under {}: the most loaded GPU takes {} of {}, OOM risk {}; plimsoll estimate --framework {} "
        "shows the terms.",
        memory->fits() ? "Memory is tight" : "The plan does not fit", title, format_bytes(peak),
        format_bytes(memory->usable), risk_text(chance), name_of(framework));
}

}  // namespace plimsoll::exports
