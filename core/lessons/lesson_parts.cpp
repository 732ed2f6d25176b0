// SPDX-License-Identifier: Apache-2.0
#include "core/lessons/lesson_parts.h"

#include <cmath>

#include "core/plan/checks/check_plan.h"
#include "core/plan/plan_io.h"
#include "core/plan/presets.h"
#include "core/plan/settings.h"

namespace plimsoll {

Plan LessonWriter::plan_of(const std::string& preset, const std::string& gpu, std::int64_t gpus,
                           const std::vector<std::string>& settings) {
    Plan plan;
    const auto model = model_preset(preset);
    if (!model) {
        if (!error_) error_ = model.error();
        return plan;
    }
    plan.model = *model;
    plan.cluster.gpu = gpu;
    plan.cluster.gpus_per_node = gpus;
    plan.cluster.nodes = 1;
    plan.layout.dp = gpus;
    plan.layout.micro_batch = 1;
    plan.layout.recompute = Recompute::Full;
    plan.numerics.dtype = Dtype::Bf16;
    plan.numerics.attention = Attention::Flash;
    plan.data.sequence_length = std::min<std::int64_t>(2048, plan.model.max_position);
    return changed(plan, settings);
}

Plan LessonWriter::changed(const Plan& plan, const std::vector<std::string>& settings) {
    auto next = with_settings(plan, settings);
    if (next) return *std::move(next);
    if (!error_) error_ = next.error();
    return plan;
}

MemoryEstimate LessonWriter::estimate(const Plan& plan) {
    if (error_) return {};
    auto made = estimate_memory(plan);
    if (made) return *std::move(made);
    error_ = made.error();
    return {};
}

double LessonWriter::step(std::string name, std::string words, double value, LessonUnit unit) {
    lesson_.steps.push_back({std::move(name), std::move(words), value, unit});
    return value;
}

Bytes LessonWriter::step(std::string name, std::string words, Bytes bytes) {
    step(std::move(name), std::move(words), static_cast<double>(bytes));
    return bytes;
}

Result<Lesson> LessonWriter::done() {
    if (error_) return failed("the lesson {} cannot be worked out: {}", lesson_.name, error_->message);
    if (const auto possible = require_possible(lesson_.plan); !possible)
        return failed("the lesson {} has a plan that is impossible: {}", lesson_.name, possible.error().message);
    lesson_.plan.name = lesson_.title;
    return std::move(lesson_);
}

std::string gb(double bytes) { return format_bytes_decimal(std::llround(bytes)); }

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string fits_words(const MemoryEstimate& estimate) {
    const auto total = static_cast<double>(estimate.fullest().total()), usable = static_cast<double>(estimate.usable);
    return estimate.fits() ? fmt::format("fits: {} of {}", gb(total), gb(usable))
                           : fmt::format("does not fit: {} of {}", gb(total), gb(usable));
}

Bytes states_of(const RankMemory& rank) {
    return rank.of(Category::Parameters) + rank.of(Category::Gradients) + rank.of(Category::Optimizer);
}

}  // namespace plimsoll
