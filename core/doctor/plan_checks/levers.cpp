// SPDX-License-Identifier: Apache-2.0
// The ways to need less memory, one by one: what each would save, or that it is in use or not needed.
#include <algorithm>
#include <array>

#include "core/doctor/plan_checks/plan_checks.h"

namespace plimsoll::doctor {

namespace {

struct Lever {
    const char* item;
    std::vector<const char*> keys;  ///< prefixes of the settings that belong to the lever
    std::string used;               ///< how the plan uses the lever; empty: not at all
};

std::vector<Lever> levers_of(const Plan& plan) {
    const Layout& l = plan.layout;
    const auto used = [](bool is, std::string words) { return is ? std::move(words) : std::string(); };
    const auto name = [](const auto& names, auto value) { return names[static_cast<std::size_t>(value)]; };
    return {
        {"smaller-micro-batch",
         {"layout.micro_batch"},
         used(l.micro_batch == 1, "the micro-batch is one sequence already")},
        {"recomputation",
         {"layout.recompute"},
         used(l.recompute != Recompute::None, fmt::format("in use: {}", name(recompute_names, l.recompute)))},
        {"zero", {"layout.zero_stage"}, used(l.zero_stage > 0, fmt::format("in use: stage {}", l.zero_stage))},
        {"model-parallel",
         {"layout.tp", "layout.pp", "layout.cp", "layout.ep", "layout.sequence_parallel"},
         used(l.tp * l.pp * l.cp * l.ep > 1,
              fmt::format("in use: tp {}, pp {}, cp {}, ep {}", l.tp, l.pp, l.cp, l.ep))},
        {"offload",
         {"layout.offload"},
         used(l.offload_optimizer != Offload::None || l.offload_parameters != Offload::None || l.offload_activations,
              "in use")},
        {"kernels",
         {"numerics.attention", "layout.loss_chunks", "layout.compress_activations"},
         used(plan.numerics.attention == Attention::Flash, "attention is fused")},
        {"small-dtypes",
         {"numerics.dtype", "numerics.fp32_gradients", "numerics.weights", "optimizer.kind"},
         used(plan.numerics.dtype != Dtype::Fp32, fmt::format("in use: {}", name(dtype_names, plan.numerics.dtype)))}};
}

/// ZeRO comes before offload: a remedy that raises the stage and offloads counts as offload.
bool is_of(const Remedy& remedy, const Lever& lever) {
    const std::string& last = remedy.settings.back();
    const std::string& first = remedy.settings.front();
    return std::any_of(lever.keys.begin(), lever.keys.end(),
                       [&](const char* key) {
                           return first.starts_with(key) ||
                                  (first.starts_with("layout.zero_stage") && last.starts_with(key));
                       }) &&
           (lever.item != std::string_view("zero") || remedy.settings.size() == 1);
}

}  // namespace

void check_levers(const PlanFacts& facts, Sheet& sheet) {
    const bool fits = facts.memory.fits();
    for (const Lever& lever : levers_of(facts.plan)) {
        const Remedy* best = nullptr;
        for (const Remedy& remedy : facts.remedies.changes)
            if (is_of(remedy, lever) && (best == nullptr || remedy.saves > best->saves)) best = &remedy;
        std::string words = lever.used;
        if (best == nullptr) {
            if (words.empty()) words = "would save nothing here";
            sheet.fine(lever.item, words);
            continue;
        }
        words += fmt::format("{}{} would save {}", words.empty() ? "" : "; ", best->name, format_bytes(best->saves));
        if (facts.hardware)
            words += fmt::format(" for {} of a step's time", best->slowdown > 0 ? percent(best->slowdown) : "none");
        sheet.fine(lever.item, fits ? words + "; not needed" : words);
    }
}

}  // namespace plimsoll::doctor
