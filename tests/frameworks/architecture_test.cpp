// SPDX-License-Identifier: Apache-2.0
// Parameters of a rank against exact counts.
#include "core/frameworks/architecture.h"
#include "core/plan/parameters.h"
#include "tests/support/plans.h"

namespace plimsoll {
namespace {

Count all_stages(const Workload& work) {
    Count sum;
    for (const auto& stage : stage_shares(work)) sum += stage_shape(work, stage).total();
    return sum;
}

TEST(Architecture, OneRankHoldsTheWholeModel) {
    for (const char* preset : {"gpt2", "llama-7b", "llama-3-8b", "mixtral-8x7b", "qwen2.5-7b"}) {
        const auto plan = gpu_plan(preset);
        auto work = workload_of(plan, Framework::TorchTitan);
        EXPECT_EQ(all_stages(work), count_parameters(plan.model).total) << preset;
    }
}

TEST(Architecture, StagesTogetherHoldItOnce) {
    const auto plan = gpu_plan("llama-7b", {"layout.pp=4", "layout.accumulation=8"});
    const auto work = workload_of(plan, Framework::TorchTitan);
    EXPECT_EQ(all_stages(work), count_parameters(plan.model).total);
    // A tied head is a copy of the embedding on the last stage.
    const auto gpt2 = gpu_plan("gpt2", {"layout.pp=4", "layout.accumulation=8"});
    EXPECT_EQ(all_stages(workload_of(gpt2, Framework::TorchTitan)), count_parameters(gpt2.model).total + 50257LL * 768);
}

TEST(Architecture, MegatronPadsTheVocabulary) {
    const auto plan = gpu_plan("gpt2", {"layout.tp=4"});
    EXPECT_EQ(workload_of(plan, Framework::Megatron).vocabulary, 50688);  // a multiple of 128 x 4
    EXPECT_EQ(workload_of(plan, Framework::TorchTitan).vocabulary, 50260);
}

// DeepSeek-V3: 671 B parameters, of which 11.5 B are the layer that predicts a second token.
TEST(Architecture, LatentAttentionAndSharedExperts) {
    Workload work;
    auto& m = work.model;
    m.num_layers = 61, m.hidden_size = 7168, m.num_heads = m.num_kv_heads = 128, m.head_dim = 128;
    m.ffn_hidden_size = 18432, m.vocab_size = work.vocabulary = 129280;
    m.num_experts = 256, m.experts_per_token = 8;
    m.norm = Norm::RmsNorm, m.position = Position::Rotary, m.activation = Activation::SwiGlu, m.tied_head = false;
    work.expert = {2048, 2048, 3, 1, false};
    work.latent = {1536, 512, 128, 64, 128};
    work.sequence = 4096;
    work.layout.dp = 1;
    EXPECT_NEAR(static_cast<double>(all_stages(work).value()), 671.0e9, 0.2e9);
}

TEST(Architecture, EmbeddingAndLossMayCountAsLayers) {
    Workload work;
    work.model.num_layers = 6;
    work.layout.pp = 4;
    work.layout.schedule = Schedule::Interleaved;
    work.layout.chunks = 2;
    work.layout.accumulation = 4;
    std::vector<std::int64_t> layers;
    for (const auto& stage : stage_shares(work)) layers.push_back(stage.layers);
    EXPECT_EQ(layers, (std::vector<std::int64_t>{1, 2, 2, 1}));
}

}  // namespace
}  // namespace plimsoll
