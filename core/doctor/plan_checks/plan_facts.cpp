// SPDX-License-Identifier: Apache-2.0
#include "core/doctor/plan_checks/plan_facts.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "core/doctor/findings/sheet.h"
#include "core/frameworks/error_model.h"
#include "core/plan/plan_io.h"
#include "core/plan/settings.h"
#include "core/remedies/find_remedies.h"
#include "core/step_time/calibration_file.h"
#include "core/step_time/step_timer.h"

namespace plimsoll::doctor {

namespace {

constexpr double most_risk = 0.05;

double tokens(const Plan& plan) {
    return static_cast<double>(plan.layout.global_batch()) * static_cast<double>(plan.data.sequence_length);
}

}  // namespace

Result<PlanFacts> facts_of(const Plan& plan) {
    PlanFacts facts;
    facts.plan = plan;
    PLIMSOLL_TRY(auto memory, estimate_memory(plan));
    facts.memory = std::move(memory);
    facts.remedies = find_remedies(plan, facts.memory);
    auto hardware = hardware_of(plan.cluster, plan.numerics.dtype);
    std::error_code ignored;
    if (!hardware) {
        facts.no_speed = hardware.error().message;
    } else if (!facts.on_gpu() && !std::filesystem::exists(calibration_path("cpu"), ignored)) {
        facts.no_speed = "this machine's speed is not known: `plimsoll bench --calibrate` measures it";
    } else {
        facts.hardware = *hardware;
        facts.time = StepTimer(plan, *hardware).time(plan.layout);
    }
    return facts;
}

double risk_of(const PlanFacts& facts, Bytes total) {
    return out_of_memory_probability(Framework::Plimsoll, total, facts.memory.usable, facts.on_gpu());
}

std::optional<Variant> variant_of(const PlanFacts& facts, const std::vector<std::string>& settings) {
    if (!facts.hardware || facts.time.total() <= 0 || !works(facts.plan, settings)) return std::nullopt;
    const Plan changed = *with_settings(facts.plan, settings);
    const auto memory = estimate_memory(changed);
    const auto hardware = hardware_of(changed.cluster, changed.numerics.dtype);
    if (!memory || !hardware) return std::nullopt;
    const Seconds step = StepTimer(changed, *hardware).time(changed.layout).total();
    if (step <= 0) return std::nullopt;
    Variant variant{settings, memory->fullest().total(), 0, false};
    variant.faster = (tokens(changed) / step) / (tokens(facts.plan) / facts.time.total()) - 1;
    variant.safe = memory->fits() && risk_of(facts, variant.total) <= most_risk;
    return variant;
}

std::vector<Variant> fastest(const PlanFacts& facts, const std::vector<std::vector<std::string>>& all,
                             std::size_t most) {
    std::vector<Variant> winners;
    for (const auto& settings : all)
        if (const auto variant = variant_of(facts, settings);
            variant && variant->safe && variant->faster > worth_telling)
            winners.push_back(*variant);
    std::stable_sort(winners.begin(), winners.end(),
                     [](const Variant& a, const Variant& b) { return a.faster > b.faster; });
    if (winners.size() > most) winners.resize(most);
    return winners;
}

std::string percent(double share) {
    return std::abs(share) < 0.0995 ? fmt::format("{:.1f} %", 100 * share) : fmt::format("{:.0f} %", 100 * share);
}

}  // namespace plimsoll::doctor
