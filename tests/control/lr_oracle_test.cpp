// SPDX-License-Identifier: Apache-2.0
// Rates recorded from DeepSpeed 0.19.8's and transformers 5.24.0's own schedulers (oracles/gen_oracles.py lr), update
// by update: through the functions with the libraries' parameters, and through a plan that says the same.
#include <gtest/gtest.h>

#include <set>

#include "core/base/json.h"
#include "core/control/lr_deepspeed.h"
#include "core/control/lr_schedule.h"
#include "core/control/lr_transformers.h"

namespace plimsoll {
namespace {

constexpr double close = 1e-9;

template <class T>
T value(const Json& params, const char* key, T otherwise) {
    return params.contains(key) && !params[key].is_null() ? params[key].get<T>() : otherwise;
}

LrShape shape(const Json& params, const char* key, const char* otherwise) {
    const auto name = value<std::string>(params, key, otherwise);
    return name == "linear" ? LrShape::Linear : name == "cosine" ? LrShape::Cosine : LrShape::OneMinusSqrt;
}

deepspeed::Warmup warmup_of(const Json& p, double lr) {
    return {.min_lr = value(p, "warmup_min_lr", 0.0),
            .max_lr = value(p, "warmup_max_lr", lr),
            .steps = value<std::int64_t>(p, "warmup_num_steps", 1000),
            .logarithmic = value<std::string>(p, "warmup_type", "log") == "log"};
}

deepspeed::OneCycle cycle_of(const Json& p) {
    deepspeed::OneCycle cycle;
    cycle.min_lr = p.at("cycle_min_lr");
    cycle.max_lr = p.at("cycle_max_lr");
    cycle.first_step_size = p.at("cycle_first_step_size");
    cycle.second_step_size = value<std::int64_t>(p, "cycle_second_step_size", 0);
    cycle.decay_step_size = value<std::int64_t>(p, "decay_step_size", 0);
    cycle.first_stairs = value<std::int64_t>(p, "cycle_first_stair_count", 0);
    cycle.second_stairs = value<std::int64_t>(p, "cycle_second_stair_count", cycle.first_stairs);
    cycle.decay_lr_rate = value(p, "decay_lr_rate", 0.0);
    cycle.decay_mom_rate = value(p, "decay_mom_rate", 0.0);
    return cycle;
}

double deepspeed_lr(const std::string& name, const Json& p, double lr, std::int64_t update) {
    const auto total = value<std::int64_t>(p, "total_num_steps", 0);
    deepspeed::Warmup warmup = warmup_of(p, lr);
    if (name == "WarmupLR") return deepspeed::warmup_lr(warmup, update);
    if (name == "WarmupDecayLR") return deepspeed::warmup_decay_lr(warmup, total, update);
    if (name == "WarmupCosineLR") {
        warmup.min_lr = value(p, "warmup_min_ratio", 0.0);
        warmup.max_lr = 1;
        return lr * deepspeed::warmup_cosine_ratio(warmup, total, value(p, "cos_min_ratio", 0.0001), update);
    }
    if (name == "OneCycle") return deepspeed::one_cycle_lr(cycle_of(p), update);
    EXPECT_EQ(name, "LRRangeTest");
    return deepspeed::range_test_lr(p.at("lr_range_test_min_lr"), p.at("lr_range_test_step_size"),
                                    p.at("lr_range_test_step_rate"), p.at("lr_range_test_staircase"), update);
}

double transformers_lr(const std::string& name, const Json& p, double lr, std::int64_t step) {
    using namespace transformers;
    const auto warmup = p.at("num_warmup_steps").get<std::int64_t>();
    const auto total = value<std::int64_t>(p, "num_training_steps", 0);
    const double cycles = value(p, "num_cycles", 0.5);
    if (name == "get_cosine_schedule_with_warmup") return lr * cosine_with_warmup(warmup, total, cycles, step);
    if (name == "get_cosine_with_hard_restarts_schedule_with_warmup")
        return lr * cosine_with_hard_restarts(warmup, total, value(p, "num_cycles", 1.0), step);
    if (name == "get_linear_schedule_with_warmup") return lr * linear_with_warmup(warmup, total, step);
    if (name == "get_constant_schedule_with_warmup") return lr * constant_with_warmup(warmup, step);
    if (name == "get_polynomial_decay_schedule_with_warmup")
        return lr * polynomial_decay(warmup, total, value(p, "lr_end", 1e-7) / lr, value(p, "power", 1.0), step);
    if (name == "get_inverse_sqrt_schedule") return lr * inverse_sqrt(warmup, 0, step);
    if (name == "get_cosine_with_min_lr_schedule_with_warmup")
        return lr * cosine_with_min_lr(warmup, total, cycles, value(p, "min_lr_rate", 0.0), step);
    if (name == "get_cosine_with_min_lr_schedule_with_warmup_lr_rate")
        return lr * cosine_with_min_lr_and_warmup_rate(warmup, total, cycles, value(p, "min_lr_rate", 0.0),
                                                       value(p, "warmup_lr_rate", -1.0), step);
    EXPECT_EQ(name, "get_wsd_schedule");
    const auto decay = p.at("num_decay_steps").get<std::int64_t>();
    return lr * warmup_stable_decay({.warmup = warmup,
                                     .stable = value<std::int64_t>(p, "num_stable_steps", total - warmup - decay),
                                     .decay = decay,
                                     .warmup_shape = shape(p, "warmup_type", "linear"),
                                     .decay_shape = shape(p, "decay_type", "cosine"),
                                     .min_ratio = value(p, "min_lr_ratio", 0.0),
                                     .cycles = cycles},
                                    step);
}

/// A plan's schedule, peak and length that say the same; nothing for what a plan cannot say.
struct InPlan {
    LrSchedule lr;
    double peak;
    std::int64_t total;
};
std::optional<InPlan> in_plan(const std::string& name, const Json& p, double lr) {
    InPlan plan{{}, lr, value<std::int64_t>(p, "total_num_steps", value<std::int64_t>(p, "num_training_steps", 1000))};
    LrSchedule& s = plan.lr;
    s.warmup_steps = value<std::int64_t>(p, "warmup_num_steps", value<std::int64_t>(p, "num_warmup_steps", 0));
    s.warmup_shape = shape(p, "warmup_type", "linear");
    s.min_ratio = value(p, "min_lr_rate", value(p, "min_lr_ratio", value(p, "cos_min_ratio", 0.0001)));
    s.cycles = value(p, "num_cycles", 0.0);
    s.power = value(p, "power", 1.0);
    if (name.starts_with("Warmup")) {
        plan.peak = value(p, "warmup_max_lr", lr);
        s.warmup_shape = value<std::string>(p, "warmup_type", "log") == "log" ? LrShape::Log : LrShape::Linear;
        s.warmup_start_ratio = value(p, "warmup_min_ratio", value(p, "warmup_min_lr", 0.0) / plan.peak);
        s.kind = name == "WarmupLR"        ? LrKind::DeepSpeedWarmup
                 : name == "WarmupDecayLR" ? LrKind::DeepSpeedWarmupDecay
                                           : LrKind::DeepSpeedWarmupCosine;
        return plan;
    }
    if (name == "OneCycle") {
        const deepspeed::OneCycle cycle = cycle_of(p);
        if (cycle.first_stairs > 0) return std::nullopt;
        s.kind = LrKind::DeepSpeedOneCycle;
        plan.peak = cycle.max_lr;
        s.warmup_start_ratio = cycle.min_lr / cycle.max_lr;
        s.warmup_steps = cycle.first_step_size;
        s.cycle_steps = cycle.second_step_size;
        s.decay_steps = cycle.decay_step_size;
        s.decay_rate = cycle.decay_lr_rate;
        return plan;
    }
    if (name == "get_wsd_schedule") {
        s.kind = LrKind::TransformersWsd;
        s.decay_steps = p.at("num_decay_steps");
        s.decay_shape = shape(p, "decay_type", "cosine");
        if (!p.contains("min_lr_ratio")) s.min_ratio = 0;
        if (p.contains("num_stable_steps") && !p["num_stable_steps"].is_null())
            plan.total = s.warmup_steps + s.decay_steps + p["num_stable_steps"].get<std::int64_t>();
        return plan;
    }
    if (name == "get_polynomial_decay_schedule_with_warmup") s.min_ratio = value(p, "lr_end", 1e-7) / lr;
    s.warmup_start_ratio = value(p, "warmup_lr_rate", 0.0);
    const std::pair<const char*, LrKind> names[] = {
        {"get_cosine_schedule_with_warmup", LrKind::TransformersCosine},
        {"get_cosine_with_hard_restarts_schedule_with_warmup", LrKind::TransformersCosineRestarts},
        {"get_linear_schedule_with_warmup", LrKind::TransformersLinear},
        {"get_constant_schedule_with_warmup", LrKind::TransformersConstant},
        {"get_polynomial_decay_schedule_with_warmup", LrKind::TransformersPolynomial},
        {"get_inverse_sqrt_schedule", LrKind::TransformersInverseSqrt},
        {"get_cosine_with_min_lr_schedule_with_warmup", LrKind::TransformersCosineMinLr},
        {"get_cosine_with_min_lr_schedule_with_warmup_lr_rate", LrKind::TransformersCosineWarmupMinLr}};
    for (const auto& [own, kind] : names) {
        if (name != own) continue;
        s.kind = kind;
        return plan;
    }
    return std::nullopt;
}

class Oracle : public ::testing::Test {
protected:
    void SetUp() override {
        const auto read = read_json(PLIMSOLL_SOURCE_DIR "/tests/oracles/lr_schedules.json");
        ASSERT_TRUE(read) << read.error().message;
        cases_ = read->at("cases");
        ASSERT_EQ(cases_.size(), 33U);
    }
    Json cases_;
};

TEST_F(Oracle, EveryRateOfTheLibraries) {
    for (const Json& each : cases_) {
        const auto name = each.at("schedule").get<std::string>();
        SCOPED_TRACE(name + " " + each.at("params").dump());
        const bool deepspeed = each.at("lib") == "deepspeed";
        for (const Json& row : each.at("values")) {
            const auto update = row[0].get<std::int64_t>();
            const double lr = each.at("optimizer_lr"), expected = row[1];
            const double rate = deepspeed ? deepspeed_lr(name, each.at("params"), lr, update)
                                          : transformers_lr(name, each.at("params"), lr, update);
            ASSERT_NEAR(rate, expected, close * std::max(1e-3, expected)) << "update " << update;
        }
    }
}

TEST_F(Oracle, EveryRateThroughAPlan) {
    std::set<std::string> checked;
    for (const Json& each : cases_) {
        const auto name = each.at("schedule").get<std::string>();
        const auto plan = in_plan(name, each.at("params"), each.at("optimizer_lr"));
        if (!plan) continue;
        checked.insert(name);
        SCOPED_TRACE(name + " " + each.at("params").dump());
        for (const Json& row : each.at("values")) {
            const double expected = row[1];
            ASSERT_NEAR(learning_rate(plan->lr, plan->peak, row[0].get<std::int64_t>(), plan->total), expected,
                        close * std::max(1e-3, expected))
                << "update " << row[0];
        }
    }
    EXPECT_EQ(checked.size(), 13U) << "all but LRRangeTest";
}

TEST_F(Oracle, MomentumOfOneCycle) {
    int seen = 0;
    for (const Json& each : cases_) {
        if (!each.contains("momentum")) continue;
        ++seen;
        for (const Json& row : each.at("momentum")) {
            ASSERT_NEAR(deepspeed::one_cycle_momentum(cycle_of(each.at("params")), row[0].get<std::int64_t>()),
                        row[1].get<double>(), close)
                << each.at("params").dump() << " update " << row[0];
        }
    }
    EXPECT_EQ(seen, 2);
}

}  // namespace
}  // namespace plimsoll
