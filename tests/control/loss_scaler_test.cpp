// SPDX-License-Identifier: Apache-2.0
// The traces were recorded from DeepSpeed 0.19.8's own DynamicLossScaler (oracles/gen_oracles.py loss_scale).
#include "core/control/loss_scaler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/base/json.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

Numerics fp16() {
    Numerics numerics;
    numerics.dtype = Dtype::Fp16;
    return numerics;
}

Numerics numerics_of(const Json& config) {
    Numerics numerics = fp16();
    numerics.initial_scale_power = config.at("initial_scale_power");
    numerics.loss_scale_window = config.at("loss_scale_window");
    numerics.hysteresis = config.at("hysteresis");
    numerics.min_loss_scale = config.at("min_loss_scale");
    numerics.consecutive_hysteresis = config.at("consecutive_hysteresis");
    return numerics;
}

void check_trace(const Json& trace) {
    const Json& config = trace.at("config");
    LossScaler scaler(numerics_of(config));
    const auto overflow = trace.at("overflow").get<std::vector<int>>();
    const auto scale = trace.at("scale").get<std::vector<double>>();
    const auto hysteresis = trace.at("cur_hysteresis").get<std::vector<std::int64_t>>();
    const Json& error = trace.at("error");
    const std::size_t good_steps = error.is_null() ? overflow.size() : error.at("at_step").get<std::size_t>();
    ASSERT_GT(scale.size(), good_steps);
    ASSERT_EQ(scaler.scale(), scale[0]);
    ASSERT_EQ(scaler.state().hysteresis, hysteresis[0]);
    for (std::size_t step = 0; step < good_steps; ++step) {
        ASSERT_TRUE(scaler.update(overflow[step] != 0)) << "step " << step;
        ASSERT_EQ(scaler.scale(), scale[step + 1]) << "after step " << step;
        ASSERT_EQ(scaler.state().hysteresis, hysteresis[step + 1]) << "after step " << step;
    }
    if (error.is_null()) return;
    const auto last = scaler.update(overflow.at(good_steps) != 0);
    ASSERT_FALSE(last) << "DeepSpeed raises at step " << good_steps;
    EXPECT_EQ(last.error().kind, Error::Kind::Failed);
}

TEST(LossScaler, FollowsEveryTraceOfDeepSpeed) {
    const auto traces = read_json(PLIMSOLL_SOURCE_DIR "/tests/oracles/loss_scale_traces.json");
    ASSERT_TRUE(traces) << traces.error().message;
    const Json& cases = traces->at("cases");
    ASSERT_EQ(cases.size(), 98U);
    int errors = 0;
    for (std::size_t i = 0; i < cases.size(); ++i) {
        SCOPED_TRACE(fmt::format("case {}: {} {}", i, cases[i].at("pattern").dump(), cases[i].at("config").dump()));
        check_trace(cases[i]);
        if (!cases[i].at("error").is_null()) ++errors;
    }
    EXPECT_EQ(errors, 6);
}

// torch 2.11's own torch.amp.GradScaler (tests/oracles/gen_oracles.py gradscaler).
TEST(LossScaler, FollowsEveryTraceOfPyTorch) {
    const auto traces = read_json(PLIMSOLL_SOURCE_DIR "/tests/oracles/gradscaler_traces.json");
    ASSERT_TRUE(traces) << traces.error().message;
    const Json& cases = traces->at("cases");
    ASSERT_EQ(cases.size(), 20U);
    for (std::size_t i = 0; i < cases.size(); ++i) {
        const Json& config = cases[i].at("config");
        SCOPED_TRACE(fmt::format("case {}: {} {}", i, cases[i].at("pattern").dump(), config.dump()));
        Numerics numerics = fp16();
        numerics.loss_scale_policy = LossScalePolicy::PyTorch;
        numerics.loss_scale_growth = config.at("growth_factor");
        numerics.loss_scale_backoff = config.at("backoff_factor");
        numerics.loss_scale_window = config.at("growth_interval");
        numerics.initial_scale_power = std::ilogb(config.at("init_scale").get<double>());
        LossScaler scaler(numerics);
        const auto overflow = cases[i].at("overflow").get<std::vector<int>>();
        const auto scale = cases[i].at("scale").get<std::vector<double>>();
        const auto tracker = cases[i].at("growth_tracker").get<std::vector<std::int64_t>>();
        ASSERT_EQ(scaler.scale(), scale[0]);
        for (std::size_t step = 0; step < overflow.size(); ++step) {
            ASSERT_TRUE(scaler.update(overflow[step] != 0));
            ASSERT_EQ(scaler.scale(), scale[step + 1]) << "after step " << step;
            ASSERT_EQ(scaler.state().clean_steps, tracker[step + 1]) << "after step " << step;
        }
    }
}

TEST(LossScaler, PyTorchsScaleHasNoFloorAndDoesNotGrowBeyondFp32) {
    Numerics numerics = fp16();
    numerics.loss_scale_policy = LossScalePolicy::PyTorch;
    numerics.loss_scale_window = 1;
    LossScaler scaler(numerics);
    for (int step = 0; step < 200; ++step) ASSERT_TRUE(scaler.update(false));
    EXPECT_EQ(scaler.scale(), std::exp2(127));
    for (int step = 0; step < 300; ++step) ASSERT_TRUE(scaler.update(true));
    EXPECT_EQ(scaler.scale(), 0.0);
}

Numerics guide() {
    Numerics numerics = fp16();
    numerics.loss_scale_policy = LossScalePolicy::Guide;
    return numerics;
}

TEST(LossScaler, GuideLooksEveryFiftySteps) {
    LossScaler scaler(guide());
    const auto take = [&](int steps, bool overflow) {
        for (int i = 0; i < steps; ++i) ASSERT_TRUE(scaler.update(overflow));
    };
    take(49, false);
    EXPECT_EQ(scaler.scale(), 65536);
    take(1, false);  // 50 clean ones
    EXPECT_EQ(scaler.scale(), 131072);
    take(2, true);
    take(47, false);
    EXPECT_EQ(scaler.scale(), 131072) << "nothing changes between looks";
    take(1, false);  // two in a row weigh more than 48 clean ones
    EXPECT_EQ(scaler.scale(), 65536);
    for (int i = 0; i < 25; ++i) {
        take(1, true);
        take(1, false);
    }
    EXPECT_EQ(scaler.scale(), 65536) << "never two overflows in a row, never ten clean steps";
    take(41, true);
    take(9, false);
    EXPECT_EQ(scaler.scale(), 32768);
    take(40, false);
    take(1, true);
    take(9, false);
    EXPECT_EQ(scaler.scale(), 32768) << "nine clean ones at the look are too few";
    take(39, false);
    take(1, true);
    take(10, false);
    EXPECT_EQ(scaler.scale(), 65536);
}

TEST(LossScaler, GuideFailsAtTheMinimum) {
    Numerics numerics = guide();
    numerics.initial_scale_power = 1;
    numerics.loss_scale_check_every = 2;
    LossScaler scaler(numerics);
    ASSERT_TRUE(scaler.update(true));
    ASSERT_TRUE(scaler.update(true));
    ASSERT_EQ(scaler.scale(), 1);
    ASSERT_TRUE(scaler.update(true));
    const LossScaler::State before = scaler.state();
    const auto error = scaler.update(true);
    ASSERT_FALSE(error);
    EXPECT_THAT(error.error().message, HasSubstr("at its minimum of 1"));
    EXPECT_EQ(scaler.state(), before);
}

TEST(LossScaler, OnlyTheGrowthFaultDividesByTheNewScale) {
    Numerics numerics = fp16();
    numerics.loss_scale_window = 1;
    for (const bool fault : {false, true}) {
        numerics.loss_scale_growth_fault = fault;
        LossScaler scaler(numerics);
        ASSERT_TRUE(scaler.update(false));
        EXPECT_EQ(scaler.divisor(65536), 65536) << "no growth, no fault";
        ASSERT_TRUE(scaler.update(false));
        ASSERT_EQ(scaler.scale(), 131072);
        EXPECT_EQ(scaler.divisor(65536), fault ? 131072 : 65536);
    }
    numerics.loss_scale_policy = LossScalePolicy::PyTorch;
    LossScaler pytorch(numerics);
    ASSERT_TRUE(pytorch.update(false));
    EXPECT_EQ(pytorch.divisor(65536), 65536);
}

TEST(LossScaler, Fp32AndBf16AreNeverScaled) {
    for (const Dtype dtype : {Dtype::Fp32, Dtype::Bf16}) {
        Numerics numerics;
        numerics.dtype = dtype;
        numerics.loss_scale = 1024;  // of fp16 only
        LossScaler scaler(numerics);
        for (int step = 0; step < 3000; ++step) {
            ASSERT_TRUE(scaler.update(step % 3 == 0));
            ASSERT_EQ(scaler.scale(), 1.0);
        }
    }
}

TEST(LossScaler, StaticScaleStaysWhateverHappens) {
    Numerics numerics = fp16();
    numerics.loss_scale = 128;
    LossScaler scaler(numerics);
    for (int step = 0; step < 3000; ++step) {
        ASSERT_TRUE(scaler.update(step % 2 == 0));
        ASSERT_EQ(scaler.scale(), 128.0);
    }
}

TEST(LossScaler, ErrorAtTheMinimumSaysWhatToChangeAndKeepsTheState) {
    Numerics numerics = fp16();
    numerics.initial_scale_power = 1;
    numerics.hysteresis = 1;
    LossScaler scaler(numerics);
    ASSERT_TRUE(scaler.update(true));
    ASSERT_EQ(scaler.scale(), 1.0);
    const auto error = scaler.update(true);
    ASSERT_FALSE(error);
    EXPECT_THAT(error.error().message, HasSubstr("bf16"));
    EXPECT_THAT(error.error().message, HasSubstr("numerics.min_loss_scale"));
    EXPECT_EQ(scaler.scale(), 1.0);
    EXPECT_EQ(scaler.state().iteration, 1);
}

TEST(LossScaler, RestoredStateGoesOnAsIfNothingHappened) {
    Numerics numerics = fp16();
    numerics.loss_scale_window = 3;
    const auto overflow = [](int step) { return step == 4 || step == 5 || step == 17; };
    LossScaler whole(numerics);
    LossScaler first(numerics);
    for (int step = 0; step < 9; ++step) {
        ASSERT_TRUE(whole.update(overflow(step)));
        ASSERT_TRUE(first.update(overflow(step)));
    }
    LossScaler second(numerics);
    second.restore(first.state());
    for (int step = 9; step < 40; ++step) {
        ASSERT_TRUE(whole.update(overflow(step)));
        ASSERT_TRUE(second.update(overflow(step)));
        ASSERT_EQ(second.scale(), whole.scale()) << "step " << step;
    }
    EXPECT_GT(whole.scale(), 65536.0);
}

}  // namespace
}  // namespace plimsoll
