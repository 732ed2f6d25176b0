// SPDX-License-Identifier: Apache-2.0
// For check_peft.py: goes on training a PEFT adapter of a Hugging Face model, and writes what came of it.
//     train-adapters BASE ADAPTER TOKENS OUT
// TOKENS holds "tokens" [steps, batch, time + 1]; OUT gets probe.safetensors (losses, logits before and after), a
// checkpoint and the merged model.
#include <cstdio>

#include "core/base/json.h"
#include "core/engine/parallel/distributed_model.h"
#include "core/engine/weights/checkpoint.h"
#include "core/engine/weights/hf_weights.h"
#include "core/engine/weights/peft_weights.h"
#include "core/engine/weights/safetensors.h"
#include "core/plan/hugging_face/hf_config.h"
#include "core/plan/hugging_face/peft_config.h"
#include "core/schedule/generators/make_schedule.h"

namespace plimsoll::engine {
namespace {

namespace fs = std::filesystem;

Result<Plan> plan_of(const fs::path& base, const fs::path& adapter) {
    Plan plan;
    auto model = import_hf_config(base / "config.json");
    if (!model) return tl::unexpected(model.error());
    plan.model = *std::move(model);
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

Result<void> run(const fs::path& base, const fs::path& adapter, const fs::path& tokens_file, const fs::path& out) {
    const auto plan = plan_of(base, adapter);
    if (!plan) return tl::unexpected(plan.error());
    const auto read = read_safetensors(tokens_file);
    if (!read) return tl::unexpected(read.error());
    const torch::Tensor tokens = read->front().second;
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

}  // namespace
}  // namespace plimsoll::engine

int main(int argc, char** argv) {
    if (argc != 5) {
        std::fprintf(stderr, "usage: train-adapters BASE ADAPTER TOKENS OUT\n");
        return 2;
    }
    const auto done = plimsoll::engine::run(argv[1], argv[2], argv[3], argv[4]);
    if (!done) std::fprintf(stderr, "%s\n", done.error().message.c_str());
    return done ? 0 : 1;
}
