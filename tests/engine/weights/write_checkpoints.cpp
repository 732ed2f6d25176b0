// SPDX-License-Identifier: Apache-2.0
// For check_transformers.py: writes a checkpoint of each family with the logits of some tokens beside it, computes the
// logits of a checkpoint of others, exports a checkpoint in shards, copies a safetensors file through reader and
// writer.
#include <cstdio>
#include <string_view>

#include "core/base/parse_bytes.h"
#include "core/engine/parallel/distributed_model.h"
#include "core/engine/weights/checkpoint.h"
#include "core/engine/weights/hf_weights.h"
#include "core/engine/weights/safetensors.h"
#include "core/interop/model_files/hf_folder.h"
#include "core/plan/hugging_face/hf_config.h"
#include "core/plan/hugging_face/kept_keys.h"
#include "core/schedule/generators/make_schedule.h"
#include "tests/support/small_models.h"

namespace plimsoll::engine {
namespace {

/// Families with the settings that a wrong config.json would lose.
std::vector<std::pair<std::string, Plan>> plans() {
    std::vector<std::pair<std::string, Plan>> all;
    for (const std::string& preset : family_presets()) all.emplace_back(preset, small_plan(preset));
    Plan tied = small_plan("llama-2-70b");
    tied.model.tied_head = true;
    tied.model.rope_theta = 123;
    tied.model.norm_eps = 0.3;
    tied.model.head_dim = 6;
    all.emplace_back("llama-tied", tied);
    Plan biased = small_plan("llama-7b");
    biased.model.qkv_bias = biased.model.linear_bias = true;
    all.emplace_back("llama-biased", biased);
    Plan relu = small_plan("gpt2");
    relu.model.activation = Activation::Relu;
    relu.model.tied_head = false;
    relu.model.norm_eps = 0.3;
    all.emplace_back("gpt2-relu", relu);
    Plan half = small_plan("qwen2.5-7b");
    half.numerics.dtype = Dtype::Bf16;
    all.emplace_back("qwen2-bf16", half);
    // What came with a model and changes nothing up to a length goes back with it: the probe has 20 tokens.
    Plan window = small_plan("mistral-7b");
    window.data.sequence_length = 20;
    keep_config_keys(window, {{"sliding_window", 20}, {"eos_token_id", {1, 2}}, {"my_tools_key", {{"a", 1}}}});
    all.emplace_back("mistral-window", window);
    Plan dynamic = small_plan("llama-7b");
    keep_config_keys(dynamic, {{"rope_scaling", {{"type", "dynamic"}, {"factor", 4.0}}}});
    all.emplace_back("llama-dynamic", dynamic);
    Plan mixtral = small_plan("mixtral-8x7b");
    mixtral.model.num_experts = 4;
    all.emplace_back("mixtral", mixtral);
    return all;
}

Result<void> write_one(const std::filesystem::path& folder, const Plan& plan) {
    const auto model = make_decoder(plan, 3);
    const torch::NoGradGuard no_grad;
    torch::manual_seed(5);
    for (auto& item : model->named_parameters()) {
        // Norm weights and biases away from 1 and 0, where they could be left out unnoticed.
        if (item.value().dim() == 1) item.value().add_(0.3 * torch::randn_like(item.value()));
    }
    model->eval();
    const torch::Tensor tokens = random_tokens(plan, 2, 20);
    CheckpointContents contents;
    for (const auto& [name, tensor] : parameters_of(*model)) contents.weights.emplace_back(name, tensor.detach());
    PLIMSOLL_CHECK(save_checkpoint(folder, contents, plan, 1));
    return write_safetensors(folder / "probe.safetensors", {{"tokens", tokens}, {"logits", model->forward(tokens)}});
}

/// FOLDER/logits.safetensors of FOLDER/tokens.safetensors, by the model of config.json and the weights beside it.
Result<void> write_logits(const std::filesystem::path& folder) {
    Plan plan;
    PLIMSOLL_TRY(auto read, import_hf_config(folder / "config.json"));
    plan.model = std::move(read.model);
    plan.layout.dp = 1;
    PLIMSOLL_TRY(const auto tokens, read_safetensors(folder / "tokens.safetensors"));
    plan.data.sequence_length = tokens.front().second.size(1);
    PLIMSOLL_TRY(const auto weights, read_hf_weights(folder, plan));
    const auto mesh = Mesh::alone();
    const auto schedule = make_schedule(Schedule::OneFOneB, {1, 1, 1});
    DistributedModel model(plan, *mesh, *schedule, torch::Device(torch::kCPU));
    if (auto loaded = model.weights().load(weights, folder.string()); !loaded) return loaded;
    model.train(false);
    const torch::NoGradGuard no_grad;
    return write_safetensors(folder / "logits.safetensors",
                             {{"logits", model.chunk(0).forward(tokens.front().second)}});
}

/// The weights of FOLDER for the model of its config.json, in fp32.
Result<void> write_weights(const std::filesystem::path& folder, const std::filesystem::path& to) {
    Plan plan;
    PLIMSOLL_TRY(auto read, import_hf_config(folder / "config.json"));
    plan.model = std::move(read.model);
    plan.numerics.dtype = Dtype::Fp32;
    const auto weights = read_hf_weights(folder, plan);
    return weights ? write_safetensors(to, *weights) : tl::unexpected(weights.error());
}

Result<void> run(int argc, char** argv) {
    if (argc == 4 && std::string_view(argv[1]) == "copy") {
        Metadata metadata;
        PLIMSOLL_TRY(const auto tensors, read_safetensors(argv[2], &metadata));
        return write_safetensors(argv[3], tensors, metadata);
    }
    if (argc == 3 && std::string_view(argv[1]) == "logits") return write_logits(argv[2]);
    if (argc == 4 && std::string_view(argv[1]) == "weights") return write_weights(argv[2], argv[3]);
    if (argc == 5 && std::string_view(argv[1]) == "export") {
        HfFolderOptions options;
        options.shard_size = parse_bytes(argv[4]).value();
        const auto written = export_hf_folder(argv[2], argv[3], options);
        return written ? Result<void>() : tl::unexpected(written.error());
    }
    if (argc != 2)
        return bad_input(
            "usage: write-checkpoints FOLDER | copy FROM TO | export FROM TO SIZE | logits FOLDER | weights FOLDER TO");
    for (const auto& [name, plan] : plans()) {
        if (auto written = write_one(std::filesystem::path(argv[1]) / name, plan); !written) return written;
    }
    return {};
}

}  // namespace
}  // namespace plimsoll::engine

int main(int argc, char** argv) {
    const auto done = plimsoll::engine::run(argc, argv);
    if (!done) std::fprintf(stderr, "%s\n", done.error().message.c_str());
    return done ? 0 : 1;
}
