// SPDX-License-Identifier: Apache-2.0
// Goes on training a PEFT adapter of a Hugging Face model, and writes what came of it.
#pragma once

#include <algorithm>

#include "core/engine/parallel/distributed_model.h"
#include "core/engine/weights/checkpoint.h"
#include "core/engine/weights/hf_weights.h"
#include "core/engine/weights/peft_weights.h"
#include "core/engine/weights/safetensors.h"
#include "core/plan/hugging_face/hf_config.h"
#include "core/plan/hugging_face/peft_config.h"
#include "core/schedule/generators/make_schedule.h"

namespace plimsoll::engine {

/// One rank, AdamW, the model of BASE with the adapter's matrices.
inline Result<Plan> plan_of_adapter(const std::filesystem::path& base, const std::filesystem::path& adapter) {
    Plan plan;
    auto model = import_hf_config(base / "config.json");
    if (!model) return tl::unexpected(model.error());
    plan.model = std::move(model->model);
    plan.model.weights = base;
    const auto read = read_peft_adapter(adapter);
    if (!read) return tl::unexpected(read.error());
    plan.adapter = read->adapter;
    plan.layout.dp = 1;
    plan.optimizer.lr = 1e-2;
    plan.optimizer.weight_decay = 0.1;
    plan.optimizer.beta2 = 0.95;
    return plan;
}

/// `tokens_file` holds "tokens" [steps, batch, time + 1]. `out` gets probe.safetensors (losses, logits before and
/// after), a checkpoint and the merged model.
inline Result<void> train_adapter(const std::filesystem::path& base, const std::filesystem::path& adapter,
                                  const std::filesystem::path& tokens_file, const std::filesystem::path& out) {
    const auto plan = plan_of_adapter(base, adapter);
    if (!plan) return tl::unexpected(plan.error());
    const auto read = read_safetensors(tokens_file);
    if (!read) return tl::unexpected(read.error());
    const auto named =
        std::find_if(read->begin(), read->end(), [](const auto& each) { return each.first == "tokens"; });
    if (named == read->end()) return bad_input("{} holds no tokens", tokens_file.string());
    const torch::Tensor tokens = named->second;
    const auto mesh = Mesh::alone();
    const auto schedule = make_schedule(Schedule::OneFOneB, {1, 1, 1});
    DistributedModel model(*plan, *mesh, *schedule, torch::Device(torch::kCPU));
    const auto weights = read_hf_weights(base, *plan);
    if (!weights) return tl::unexpected(weights.error());
    if (auto loaded = model.weights().load_frozen(*weights, base.string()); !loaded) return loaded;
    const auto adapters = read_peft_weights(adapter, *plan);
    if (!adapters) return tl::unexpected(adapters.error());
    if (auto loaded = model.weights().load(*adapters, adapter.string()); !loaded) return loaded;
    if (auto made = model.make_optimizer(plan->optimizer); !made) return made;

    const auto logits = [&] {
        const torch::NoGradGuard no_grad;
        return model.chunk(0).forward(tokens[0].narrow(1, 0, tokens.size(2) - 1));
    };
    const torch::Tensor before = logits();
    std::vector<double> losses;
    for (std::int64_t step = 0; step < tokens.size(0); ++step) {
        const torch::Tensor x = tokens[step].narrow(1, 0, tokens.size(2) - 1).contiguous();
        const torch::Tensor y = tokens[step].narrow(1, 1, tokens.size(2) - 1).contiguous();
        model.zero_gradients();
        model.prepare_backward(true);
        const torch::Tensor loss = model.chunk(0).loss(model.chunk(0).body(x, DropoutKey()).x, y).x;
        losses.push_back(loss.item<double>());
        loss.backward();
        if (auto done = model.finish_backward(); !done) return done;
        if (auto done = model.finish_gradients(); !done) return done;
        if (auto done = model.step(plan->optimizer.lr, 1, 1); !done) return done;
    }
    CheckpointContents contents;
    contents.state.step = tokens.size(0);
    contents.optimizer_steps = model.optimizer_steps();
    contents.weights = model.weights().whole().value();
    contents.optimizer = model.whole_optimizer_state().value();
    const auto saved = save_checkpoint(out, contents, *plan, 1);
    if (!saved) return tl::unexpected(saved.error());
    const auto again = read_checkpoint(*saved, *plan);
    if (!again) return tl::unexpected(again.error());
    if (auto merged = merge_adapter(*plan, *saved, out / "merged"); !merged) return merged;
    return write_safetensors(
        out / "probe.safetensors",
        {{"losses", torch::tensor(losses, torch::kDouble)}, {"before", before}, {"after", logits()}});
}

}  // namespace plimsoll::engine
