// SPDX-License-Identifier: Apache-2.0
// Possible plans at random: layouts, precisions, optimizers, schedules, offloads, what keeps models stable.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "core/interop/deepspeed/deepspeed_export.h"
#include "core/interop/deepspeed/facts/deepspeed_release.h"
#include "core/plan/checks/check_plan.h"
#include "core/plan/plan_io.h"
#include "core/plan/presets.h"

namespace plimsoll {

class RandomPlans {
public:
    explicit RandomPlans(std::uint64_t seed) : random_(seed) {
        for (const char* name : {"gpt2", "llama-7b", "llama-3-8b", "mistral-7b", "mixtral-8x7b"}) {
            models_.push_back(model_preset(name).value());
        }
    }

    /// The next one that check_plan finds no fault with.
    Plan next() {
        while (true) {
            Plan plan = draw();
            if (check_plan(plan).empty()) return plan;
        }
    }

private:
    std::int64_t of(std::initializer_list<std::int64_t> values) { return values.begin()[random_() % values.size()]; }
    double of_numbers(std::initializer_list<double> values) { return values.begin()[random_() % values.size()]; }
    bool coin() { return random_() % 2 == 0; }

    void draw_layout(Plan& plan) {
        Layout& layout = plan.layout;
        layout.dp = of({1, 2, 3, 4, 8, 16});
        layout.tp = of({1, 1, 1, 2, 4});
        layout.pp = of({1, 1, 1, 2, 4});
        layout.cp = of({1, 1, 1, 2});
        layout.ep = plan.model.moe() ? of({1, 2, 4}) : 1;
        layout.sequence_parallel = layout.tp > 1 && coin();
        layout.zero_stage = layout.pp > 1 ? of({0, 1}) : of({0, 1, 2, 3});
        layout.micro_batch = of({1, 2, 3, 4, 8});
        layout.accumulation = layout.pp * of({1, 2, 3, 8});
        layout.schedule = coin() ? Schedule::OneFOneB : Schedule::GPipe;
        layout.recompute = static_cast<Recompute>(of({0, 1, 2, 3}));
        if (layout.zero_stage > 0) layout.offload_optimizer = static_cast<Offload>(of({0, 0, 1, 2}));
        if (layout.zero_stage == 3) layout.offload_parameters = static_cast<Offload>(of({0, 0, 1, 2}));
        layout.nvme_path = "/mnt/nvme";
        const std::int64_t world = layout.world_size();
        plan.cluster.gpus_per_node = world % 8 == 0 ? 8 : world;
        plan.cluster.nodes = world / plan.cluster.gpus_per_node;
    }

    void draw_numerics(Plan& plan) {
        Numerics& numerics = plan.numerics;
        numerics.dtype = static_cast<Dtype>(of({0, 1, 1, 2}));
        numerics.fp32_gradients = numerics.dtype != Dtype::Fp32 && coin();
        numerics.reduce_dtype = static_cast<ReduceDtype>(of({0, 0, 1}));
        numerics.loss_scale = of_numbers({0, 0, 0, 128, 1024});
        numerics.initial_scale_power = of({8, 12, 16});
        numerics.loss_scale_window = of({100, 500, 1000});
        numerics.hysteresis = of({1, 2, 4});
        numerics.consecutive_hysteresis = coin();
    }

    void draw_recipe(Plan& plan) {
        Optimizer& optimizer = plan.optimizer;
        optimizer.kind = static_cast<OptimizerKind>(of({0, 0, 0, 1, 2, 3, 4}));
        optimizer.lr = of_numbers({1e-5, 6e-5, 3e-4, 1e-3, 0.0123});
        optimizer.beta2 = of_numbers({0.95, 0.98, 0.999});
        optimizer.eps = of_numbers({1e-8, 1e-6});
        optimizer.weight_decay = of_numbers({0, 0.01, 0.1});
        optimizer.clip = of_numbers({0, 0.5, 1});
        plan.lr.kind = static_cast<LrKind>(random_() % lr_kind_names.size());
        plan.lr.warmup_steps = of({0, 1, 2, 10, 50});
        plan.lr.warmup_shape =
            plan.lr.kind >= LrKind::DeepSpeedWarmup && plan.lr.kind <= LrKind::DeepSpeedWarmupCosine && coin()
                ? LrShape::Log
                : LrShape::Linear;
        plan.lr.min_ratio = of_numbers({0, 0.1, 0.25});
        plan.training.steps = of({100, 200, 300});
    }

    void draw_stability(Plan& plan) {
        Model& model = plan.model;
        model.norm_placement = static_cast<NormPlacement>(of({0, 0, 0, 1, 2, 3}));
        model.qk_norm = of({0, 0, 1}) == 1;
        model.init = static_cast<Init>(of({0, 0, 1, 2}));
        model.mup_base_width = of({0, 0, 256});
        model.z_loss = of_numbers({0, 0, 1e-4});
        model.embedding_gradient = of_numbers({1, 1, 0.1});
        plan.optimizer.clip_rule = static_cast<ClipRule>(of({0, 0, 1}));
        plan.training.noise_scale_every = of({0, 0, 5});
        plan.guard.skip = of({0, 0, 1}) == 1;
    }

    Plan draw() {
        Plan plan;
        plan.name = "Random plan";
        plan.model = models_[random_() % models_.size()];
        plan.cluster.gpu = "H100 SXM";
        plan.data.sequence_length = of({128, 512, 1024});
        draw_layout(plan);
        draw_numerics(plan);
        draw_recipe(plan);
        draw_stability(plan);
        plan.adapter.rank = of({0, 0, 8});
        plan.adapter.alpha = of_numbers({16, 32});
        plan.adapter.rank_stabilized = coin();
        plan.adapter.targets = coin() ? "all-linear" : "attention";
        const std::vector<std::string> releases = deepspeed_releases();
        plan.exports.deepspeed_release = coin() ? releases.front() : releases[random_() % releases.size()];
        return plan;
    }

    std::mt19937_64 random_;
    std::vector<Model> models_;
};

}  // namespace plimsoll
