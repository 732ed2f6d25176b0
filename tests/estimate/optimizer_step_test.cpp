// SPDX-License-Identifier: Apache-2.0
// What an optimizer's step allocates, against what the real programs allocate (tests/oracles/step_memory.py).
#include "core/estimate/optimizer_step.h"

#include <gtest/gtest.h>

#include <numeric>

#include "core/base/json.h"
#include "core/estimate/deepspeed_terms.h"
#include "core/estimate/optimizer_state.h"
#include "tests/support/plans.h"

namespace plimsoll {
namespace {

Json oracle(const char* part) {
    auto json = read_json(PLIMSOLL_SOURCE_DIR "/tests/oracles/step_memory.json");
    EXPECT_TRUE(json) << json.error().message;
    return json ? json->at(part) : Json::array();
}

Optimizer optimizer_of(const Json& row) {
    Optimizer optimizer;
    const auto kind = row.at("kind").get<std::string>();
    optimizer.kind = kind == "sgd"         ? OptimizerKind::Sgd
                     : kind == "adafactor" ? OptimizerKind::Adafactor
                                           : OptimizerKind::AdamW;
    optimizer.weight_decay = row.value("weight_decay", 0.0);
    return optimizer;
}

TEST(OptimizerStep, AllocatesWhatTorchAllocates) {
    for (const Json& row : oracle("torch")) {
        const auto sizes = row.at("sizes").get<std::vector<std::int64_t>>();
        const Count all = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
        const auto loop = find_step_loop(row.at("loop").get<std::string>());
        ASSERT_TRUE(loop) << row;
        // The two largest stand one behind the other.
        const SteppedTensors tensors{all, sizes.back(), sizes.size() > 1};
        const auto bytes = step_temporaries(optimizer_of(row), *loop, tensors);
        // Numbers of a few bytes, such as the step count, come on top.
        EXPECT_NEAR(static_cast<double>(bytes.value()), row.at("bytes").get<double>(), 4096) << row;
        EXPECT_EQ(step_temporaries_text(optimizer_of(row), *loop, tensors).empty(), bytes == 0);
    }
}

TEST(OptimizerStep, AllocatesWhatDeepSpeedAllocates) {
    for (const Json& row : oracle("deepspeed")) {
        const auto stage = row.at("stage").get<int>();
        const bool fp32 = row.at("gradients") == "fp32";
        const auto plan = gpu_plan("gpt2", {"layout.dp=2", fmt::format("layout.zero_stage={}", stage),
                                            fmt::format("numerics.fp32_gradients={}", fp32)});
        const auto slice = slices(plan).at(0);
        const double own = static_cast<double>(share(slice.total, 2).value());
        const auto bytes = deepspeed_step_bytes(plan, slice, *find_step_loop(row.at("loop").get<std::string>()));
        // Live before stage 3's step, and free in it, were the gathered weights of all layers, 2 B a parameter.
        const double gathered = stage == 3 ? 2 * 2 : 0;
        EXPECT_NEAR(static_cast<double>(bytes.value()) / own, row.at("bytes_a_number").get<double>() + gathered, 0.05)
            << row;
    }
}

// The same shard with FusedAdam, whose kernel works in place: the two copies of the gradients are the peak.
TEST(OptimizerStep, FusedAdamLeavesTheCopiesOfTheGradients) {
    const auto bytes = [](const std::vector<std::string>& settings) {
        const auto plan = gpu_plan("gpt2", settings);
        const auto slice = slices(plan).at(0);
        return static_cast<double>(deepspeed_step_bytes(plan, slice, StepLoop::Fused).value()) /
               static_cast<double>(shard(slice, sharding(plan.layout), true).value());
    };
    EXPECT_NEAR(bytes({"layout.dp=8", "layout.zero_stage=1"}), 6, 1e-6);
    EXPECT_NEAR(bytes({"layout.dp=8", "layout.zero_stage=2"}), 6, 1e-6);
    EXPECT_NEAR(bytes({"layout.dp=8", "layout.zero_stage=3"}), 6, 1e-6);
    EXPECT_EQ(bytes({"layout.dp=8", "layout.zero_stage=2", "numerics.fp32_gradients=true"}), 0);
    EXPECT_EQ(bytes({"layout.dp=8", "layout.zero_stage=2", "layout.offload_optimizer=cpu"}), 0);
}

// Stage 3 steps a sub-group of 1e9 numbers at a time.
TEST(OptimizerStep, StageThreeStepsBySubGroups) {
    const auto plan = gpu_plan("llama-7b", {"layout.dp=2", "layout.zero_stage=3"});
    EXPECT_EQ(deepspeed_step_bytes(plan, slices(plan).at(0), StepLoop::Single), Count(12 * 1'000'000'000LL));
}

}  // namespace
}  // namespace plimsoll
