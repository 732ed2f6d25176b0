// SPDX-License-Identifier: Apache-2.0
// The sharded AdamW continues what the AdamW class began, to the bit. (A tensor's last numbers that fill no vector
// register differ by an ulp: the class takes them one by one, and with them depends on where a tensor ends.)
#include <gtest/gtest.h>

#include "core/engine/adamw.h"
#include "tests/engine/model/small_parts.h"

namespace plimsoll::engine {
namespace {

using torch::Tensor;

TEST(ShardedAdamW, EqualsTheAdamWClassToTheBit) {
    for (const auto dtype : {torch::kFloat, torch::kBFloat16, torch::kHalf}) {
        for (const double inv_scale : {1.0, 0.3}) {
            torch::manual_seed(1);
            // The last one is 2.5 chunks of a million numbers.
            std::vector<OptimizedPart> parts;
            std::vector<std::pair<std::string, Tensor>> theirs;
            for (const auto& shape : {std::vector<std::int64_t>{16, 33}, {48}, {40'960, 64}}) {
                const Tensor start = torch::randn(shape).to(dtype);
                const std::string name = fmt::format("p{}", parts.size());
                parts.push_back(whole_part(name, start.clone()));
                theirs.emplace_back(name, start.clone().requires_grad_());
            }
            const auto ours = optimizer_of(parts, {});
            AdamW reference(theirs, {});
            for (std::int64_t step = 1; step <= 4; ++step) {
                const auto gradients = random_gradients(parts, step);
                for (std::size_t i = 0; i < parts.size(); ++i) theirs[i].second.mutable_grad() = gradients[i];
                ASSERT_TRUE(ours->step(gradients, 0.01, inv_scale, 0.5));
                reference.step(0.01, inv_scale, 0.5);
            }
            for (std::size_t i = 0; i < parts.size(); ++i) {
                EXPECT_TRUE(torch::equal(parts[i].parameter, theirs[i].second)) << i << " " << dtype;
            }
            const auto state = named_state(*ours), their_state = reference.state();
            ASSERT_EQ(state.size(), their_state.size());
            for (std::size_t k = 0; k < state.size(); ++k) {
                EXPECT_EQ(state[k].first, their_state[k].first);
                EXPECT_TRUE(torch::equal(state[k].second, their_state[k].second)) << state[k].first;
            }
        }
    }
}

}  // namespace
}  // namespace plimsoll::engine
