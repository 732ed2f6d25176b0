// SPDX-License-Identifier: Apache-2.0
// Possible plans at random whose layers, heads, vocabularies, sequences and micro-batches do not come out even.
#pragma once

#include <random>

#include "core/plan/checks/check_plan.h"
#include "core/plan/plan.h"

namespace plimsoll {

class UnevenPlans {
public:
    explicit UnevenPlans(std::uint64_t seed) : random_(seed) {}

    /// The next one that check_plan finds no fault with.
    Plan next() {
        while (true) {
            Plan plan = draw();
            if (check_plan(plan).empty()) return plan;
        }
    }

private:
    std::int64_t of(std::initializer_list<std::int64_t> values) { return values.begin()[random_() % values.size()]; }
    bool coin() { return random_() % 2 == 0; }

    void draw_model(Model& model) {
        model.family = static_cast<Family>(of({0, 1, 1, 1, 2, 3, 4}));
        model.name = "uneven";
        model.num_heads = of({6, 8, 10, 12});
        model.head_dim = model.family == Family::Gpt2 ? 0 : of({0, 0, 0, 96});
        model.hidden_size = model.num_heads * 64;
        model.num_layers = of({5, 7, 10, 13, 18, 31, 32});
        model.ffn_hidden_size = of({1000, 1376, 2730, 4096});
        model.vocab_size = of({257, 32'001, 50'257, 151'936});
        model.tied_head = of({0, 0, 1}) == 1;
        const bool gpt2 = model.family == Family::Gpt2;
        model.num_kv_heads = gpt2 || coin() ? model.num_heads : model.num_heads / 2;
        if (!gpt2 && of({0, 0, 1}) == 1) model.num_kv_heads = 2;
        if (gpt2) {
            model.norm = Norm::LayerNorm;
            model.position = Position::Learned;
            model.activation = Activation::Gelu;
            model.linear_bias = true;
        }
        model.qkv_bias = gpt2 || model.family == Family::Qwen2;
        if (model.family == Family::Mixtral) model.num_experts = of({4, 6});
    }

    void draw_layout(Plan& plan) {
        Layout& layout = plan.layout;
        layout.dp = of({1, 1, 2, 3, 4});
        layout.tp = of({1, 1, 2, 3, 4});
        layout.pp = of({1, 2, 3, 4});
        layout.cp = of({1, 1, 2});
        layout.ep = plan.model.moe() ? of({1, 2}) : 1;
        layout.sequence_parallel = layout.tp > 1 && coin();
        layout.zero_stage = layout.pp > 1 ? of({0, 1}) : of({0, 1, 2, 3});
        layout.micro_batch = of({1, 2, 3});
        layout.accumulation = of({1, 2, 3, 5, 7, 8, 12});
        layout.schedule = static_cast<Schedule>(random_() % schedule_names.size());
        layout.chunks = of({1, 2, 3});
        layout.split = coin() ? Split::Even : Split::Balanced;
        layout.recompute = static_cast<Recompute>(of({0, 1, 2, 3}));
        if (layout.zero_stage > 0) layout.offload_optimizer = of({0, 0, 1}) == 1 ? Offload::Cpu : Offload::None;
        plan.cluster.gpus_per_node = layout.world_size();
    }

    Plan draw() {
        Plan plan;
        plan.name = "Uneven plan";
        draw_model(plan.model);
        plan.cluster.gpu = "H100 SXM";
        draw_layout(plan);
        plan.data.sequence_length = of({90, 510, 516, 768, 1000, 1024});
        plan.data.path = coin() ? "bible-kjv" : "corpus/some text.txt";
        plan.numerics.dtype = static_cast<Dtype>(of({0, 1, 1, 2}));
        plan.numerics.attention = coin() ? Attention::Flash : Attention::Eager;
        plan.optimizer.kind = static_cast<OptimizerKind>(of({0, 0, 2, 4}));
        plan.optimizer.lr = 3e-4;
        plan.lr.kind = static_cast<LrKind>(of({0, 1, 2, 4}));
        plan.training.steps = of({50, 100});
        plan.lr.warmup_steps = of({0, 10, 50});
        plan.training.checkpoint_every = of({0, 20});
        plan.training.validate_every = of({0, 20});
        if (of({0, 0, 1}) == 1) plan.model.weights = "models/some folder";
        return plan;
    }

    std::mt19937_64 random_;
};

}  // namespace plimsoll
