// SPDX-License-Identifier: Apache-2.0
// From what a person typed to a plan: a file, a plan preset, or a model preset with hardware that it fits on.
#include "core/plan/starting_plan.h"

#include <algorithm>
#include <system_error>

#include "core/base/nearest.h"
#include "core/base/units.h"
#include "core/plan/parameters.h"
#include "core/plan/presets.h"

namespace plimsoll {

namespace {

/// Two ranks on this machine, as in the cpu-demo preset: models small enough to train on a CPU.
constexpr std::int64_t cpu_parameters = 20'000'000;
/// From here on the larger GPU is the usual one.
constexpr std::int64_t h100_parameters = 100'000'000'000;
/// Bytes a parameter of bf16 training with AdamW: 2 weights, 2 gradients, 4 master, 8 moments (ZeRO, Rajbhandari 2020).
constexpr std::int64_t state_bytes = 16;
/// About half of an 80 GB card: the rest is for activations and buffers.
constexpr Bytes state_room = 40 * GiB;
/// Tokens of a global batch, as GPT-3's and LLaMA's smaller models used.
constexpr std::int64_t batch_tokens = 524'288;

}  // namespace

Plan starting_plan(const Model& model) {
    Plan plan;
    plan.name = model.name;
    plan.model = model;
    // The cap keeps the products below in range for models that check_plan will refuse anyway.
    const std::int64_t parameters = std::min<std::int64_t>(count_parameters(model).total, 10'000'000'000'000'000);
    if (parameters < cpu_parameters) {
        plan.data.sequence_length = std::min<std::int64_t>(model.max_position, 128);
        return plan;
    }

    std::int64_t gpus = 1;
    while (gpus < 8192 && parameters > state_room / state_bytes * gpus) gpus *= 2;
    plan.cluster.gpu = parameters < h100_parameters ? "A100 SXM4 80GB" : "H100 SXM5 80GB";
    plan.cluster.gpus_per_node = std::min<std::int64_t>(gpus, 8);
    plan.cluster.nodes = gpus / plan.cluster.gpus_per_node;

    // ZeRO over data-parallel ranks asks nothing of the model's sizes, so that it is possible for every model.
    plan.layout.dp = gpus;
    const bool parameters_fit = 2 * parameters + 14 * (parameters / gpus) < state_room;
    plan.layout.zero_stage = gpus == 1 ? 0 : (parameters_fit ? 2 : 3);
    const bool small = parameters < 2'000'000'000;
    plan.layout.micro_batch = small ? 4 : 1;
    plan.layout.recompute = small ? Recompute::None : Recompute::Full;
    plan.numerics.dtype = Dtype::Bf16;
    plan.data.sequence_length = std::min<std::int64_t>(model.max_position, 4096);
    const std::int64_t micro_tokens = plan.layout.dp * plan.layout.micro_batch * plan.data.sequence_length;
    plan.layout.accumulation = std::max<std::int64_t>(1, batch_tokens / micro_tokens);

    plan.optimizer.lr = 3e-4;
    plan.lr.warmup_steps = 2000;
    plan.training.steps = 20'000;
    plan.training.layer_norms_every = 100;
    plan.training.validate_every = 1000;
    plan.training.sample_every = 1000;
    plan.training.checkpoint_every = 1000;
    return plan;
}

Result<LoadedPlan> plan_from_argument(const std::string& path_or_preset) {
    const auto is_one_of = [&](const std::vector<std::string>& names) {
        return std::find(names.begin(), names.end(), path_or_preset) != names.end();
    };
    std::error_code error;
    if (std::filesystem::is_regular_file(path_or_preset, error)) return load_plan(path_or_preset);
    if (is_one_of(plan_preset_names())) {
        return plan_preset(path_or_preset).map([](Plan plan) { return LoadedPlan{std::move(plan), {}}; });
    }
    if (is_one_of(model_preset_names())) {
        return model_preset(path_or_preset).map([](const Model& model) {
            return LoadedPlan{starting_plan(model), {}};
        });
    }
    if (std::filesystem::exists(path_or_preset, error)) return load_plan(path_or_preset);

    std::vector<std::string> presets = plan_preset_names();
    presets.insert(presets.end(), model_preset_names().begin(), model_preset_names().end());
    return bad_input("there is no file \"{0}\" and no preset \"{0}\"{1}; give a plan file or one of: {2}",
                     path_or_preset, did_you_mean(path_or_preset, presets), fmt::join(presets, ", "));
}

}  // namespace plimsoll
