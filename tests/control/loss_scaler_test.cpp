// SPDX-License-Identifier: Apache-2.0
// The traces were recorded from DeepSpeed 0.19.8's own DynamicLossScaler (oracles/gen_oracles.py loss_scale).
#include "core/control/loss_scaler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
    return numerics;
}

void check_trace(const Json& trace) {
    const Json& config = trace.at("config");
    LossScaler scaler(numerics_of(config), config.at("consecutive_hysteresis").get<bool>());
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
    const auto traces = read_json(PLIMSOLL_SHARED_DIR "/oracles/loss_scale_traces.json");
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
