// SPDX-License-Identifier: Apache-2.0
// torchtitan: 0.2 reads a TOML file, 0.3 a Python function by name with the same fields as options.
#include <algorithm>

#include "core/base/json.h"
#include "core/base/number_noise.h"
#include "core/control/batch_rules.h"
#include "core/interop/exports/torchtitan_parts.h"

namespace plimsoll::exports {

namespace torchtitan {

namespace {

Json training_block(const Plan& plan, Notes& notes) {
    const Layout& layout = plan.layout;
    // Under a pipeline, torchtitan cuts the local batch into micro-batches; without, it accumulates.
    const std::int64_t local = layout.pp > 1 ? layout.micro_batch * layout.accumulation : layout.micro_batch;
    const bool pure = plan.numerics.half() && plan.numerics.weights == WeightCopies::Pure;
    constexpr double no_limit = 1e9;
    Json json{{"local_batch_size", local},
              {"global_batch_size", layout.global_batch()},
              {"seq_len", plan.data.sequence_length},
              {"steps", plan.training.steps},
              {"max_norm", plan.optimizer.clip > 0 ? plan.optimizer.clip : no_limit},
              {"dtype", pure ? "bfloat16" : "float32"},
              {"mixed_precision_param", plan.numerics.dtype == Dtype::Bf16 ? "bfloat16" : "float32"},
              {"mixed_precision_reduce", "float32"},
              {"enable_cpu_offload", layout.offload_parameters != Offload::None}};
    if (plan.optimizer.clip == 0) {
        notes.push_back("torchtitan always clips: max_norm is 1e9 in place of optimizer.clip 0.");
    }
    if (plan.numerics.dtype == Dtype::Bf16 && !plan.numerics.fp32_gradients) {
        notes.push_back("torchtitan reduces gradients in float32 only.");
    }
    if (layout.offload_optimizer != Offload::None && layout.offload_parameters == Offload::None) {
        notes.push_back("torchtitan offloads the optimizer only together with the parameters: neither is, here.");
    }
    return json;
}

Json recompute_block(const Layout& layout, Notes& notes) {
    if (layout.recompute == Recompute::None) return {{"mode", "none"}};
    if (layout.recompute_stages > 0) {
        notes.push_back("layout.recompute_stages is not in torchtitan: every stage recomputes alike.");
    }
    if (layout.recompute == Recompute::Full) {
        if (layout.recompute_every > 1) {
            return {{"mode", "selective"}, {"selective_ac_option", std::to_string(layout.recompute_every)}};
        }
        return {{"mode", "full"}};
    }
    notes.push_back(
        fmt::format("layout.recompute {} is not in torchtitan: selective_ac_option \"op\" keeps what is dear to make.",
                    name_of(layout.recompute)));
    return {{"mode", "selective"}, {"selective_ac_option", "op"}};
}

/// The policy as 0.3 names it on the command line, behind all options.
std::string_view recomputation_word(const Layout& layout) {
    if (layout.recompute == Recompute::None) return "none";
    return layout.recompute == Recompute::Full && layout.recompute_every == 1 ? "full" : "selective";
}

/// Both releases can start from a Hugging Face folder, read by the module's state_dict_adapter.
Json checkpoint_block(const Plan& plan) {
    const Training& training = plan.training;
    const std::int64_t every = training.checkpoint_every;
    // The last one is written in any case.
    Json json{{"enable", true},
              {"interval", every > 0 ? every : training.steps},
              {"keep_latest_k", training.keep_checkpoints == 1 ? 2 : training.keep_checkpoints}};
    if (!plan.model.weights.empty()) {
        json["initial_load_path"] = plan.model.weights;
        json["initial_load_in_hf"] = true;
    }
    return json;
}

void note_data(const Plan& plan, Notes& notes) {
    notes.push_back(
        plan.model.weights.empty()
            ? "training.dataset is torchtitan's own c4_test: name yours, and its tokenizer in hf_assets_path."
            : "training.dataset is torchtitan's own c4_test: name yours.");
    if (plan.training.validate_every > 0) {
        notes.push_back(fmt::format(
            "training.validate_every {} is not in {}: its validation needs a dataset that torchtitan knows.",
            plan.training.validate_every, title));
    }
}

/// Settings that both releases have.
Result<Json> common(const Plan& plan, Release release, Notes& notes) {
    if (plan.numerics.dtype == Dtype::Fp16) {
        return bad_input("torchtitan has no fp16: set numerics.dtype to bf16 or fp32 for this export");
    }
    PLIMSOLL_CHECK(require_model(plan, release));
    PLIMSOLL_CHECK(require_layout(plan, release));
    Json json{{"lr_scheduler", learning_rate_block(plan, notes)},
              {"training", training_block(plan, notes)},
              {"parallelism", parallelism(plan, release, notes)},
              {"activation_checkpoint", recompute_block(plan.layout, notes)},
              {"checkpoint", checkpoint_block(plan)},
              {"metrics", {{"log_freq", 1}, {"enable_tensorboard", true}}},
              {"debug", {{"seed", plan.training.seed}}}};
    if (plan.cluster.on_cpu()) notes.push_back("torchtitan needs GPUs, and cluster.gpu is cpu.");
    note_data(plan, notes);
    // FSDP keeps fp32 shards, which are masters, and gathers them in mixed_precision_param.
    note_precision(plan, title, {.masters = true, .autocast = true, .pure = true}, notes);
    note_rest(plan, title, notes);
    note_stability(plan, title, {}, notes);
    note_kept_keys(plan, title, notes);
    note_adapters(plan, title, false, notes);
    return json;
}

void add_options(CommandLine& line, const Json& block, const std::string& prefix) {
    for (const auto& [key, value] : block.items()) {
        const std::string name = fmt::format("{}.{}", prefix, key);
        if (value.is_boolean()) {
            const auto dot = name.rfind('.');
            line.flag(value.get<bool>() ? name : fmt::format("{}.no-{}", name.substr(0, dot), name.substr(dot + 1)));
        } else if (value.is_string()) {
            line.option(name, value.get<std::string>());
        } else {
            line.option(name, value.dump());
        }
    }
}

}  // namespace

}  // namespace torchtitan

Result<ExportedText> torchtitan_toml(const Plan& plan) {
    using namespace torchtitan;
    ExportedText out;
    PLIMSOLL_TRY(auto json, common(plan, Release::Toml, out.notes));
    const Optimizer& optimizer = plan.optimizer;
    const Layout& layout = plan.layout;
    if (layout.tp > 1 && !layout.sequence_parallel) {
        out.notes.push_back(
            "torchtitan 0.2 splits norms along the sequence wherever tensor_parallel_degree is above 1.");
    }
    // maybe_enable_amp (distributed/utils.py): FSDP mixes precisions, autocast does without other parallelism.
    if (plan.numerics.dtype == Dtype::Bf16 && layout.dp * layout.cp == 1 && layout.tp * layout.pp > 1) {
        out.notes.push_back(
            "torchtitan 0.2 trains in float32 here: it mixes precisions under FSDP, and layout.dp and layout.cp are 1.");
    }
    json["job"] = {{"dump_folder", fmt::format("out/{}", job_name(plan))},
                   {"description", plan.name.empty() ? plan.model.name : plan.name}};
    json["model"] = {{"name", "llama3"}, {"flavor", flavor(plan, Release::Toml, out.notes)}};
    if (!plan.model.weights.empty()) json["model"]["hf_assets_path"] = plan.model.weights;
    json["optimizer"] = {{"name", "AdamW"},          {"lr", peak_learning_rate(plan)},
                         {"beta1", optimizer.beta1}, {"beta2", optimizer.beta2},
                         {"eps", optimizer.eps},     {"weight_decay", optimizer.weight_decay},
                         {"implementation", "fused"}};
    if (optimizer.kind != OptimizerKind::AdamW) {
        out.notes.push_back(
            fmt::format("optimizer.kind {} is not in torchtitan: AdamW stands in its place.", name_of(optimizer.kind)));
    }
    out.text = to_toml(json);
    return out;
}

Result<Program> torchtitan_program(const Plan& plan) {
    using namespace torchtitan;
    Program program{CommandLine("-m torchtitan.train"), "", {}};
    Notes& notes = program.notes;
    PLIMSOLL_TRY(auto json, common(plan, Release::Command, notes));
    json.erase("activation_checkpoint");
    if (plan.layout.recompute == Recompute::Full && plan.layout.recompute_every > 1) {
        notes.push_back(
            "layout.recompute_every is not in torchtitan 0.3: its selective policy stands in its place, which recomputes "
            "a part of each layer.");
    }
    // torchtitan refuses CUDA graphs, its default, with pipelines; with expert parallelism they need special kernels.
    json["training"]["disable_cuda_graphs"] = plan.layout.pp > 1 || plan.layout.ep > 1;
    if (plan.layout.tp > 1) json["parallelism"]["enable_sequence_parallel"] = plan.layout.sequence_parallel;
    std::string config = fmt::format("llama3_{}", flavor(plan, Release::Command, notes));
    std::transform(config.begin(), config.end(), config.begin(), [](unsigned char c) { return std::tolower(c); });
    std::replace(config.begin(), config.end(), '-', '_');
    CommandLine& line = program.line;
    line.option("--module", "llama3").option("--config", config);
    line.option("--dump_folder", fmt::format("out/{}", job_name(plan)));
    if (!plan.model.weights.empty()) line.option("--hf_assets_path", plan.model.weights);
    json = without_noise(std::move(json));
    for (const auto& [section, block] : json.items()) add_options(line, block, fmt::format("--{}", section));
    line.words(fmt::format("activation_checkpoint:{}", recomputation_word(plan.layout)));
    const Optimizer& optimizer = plan.optimizer;
    notes.push_back(fmt::format(
        "The optimizer is set in the Python function that --config names (torchtitan 0.3): {} with lr {}, betas ({}, {}), "
        "eps {}, weight_decay {} in optimizer.param_groups.",
        name_of(optimizer.kind), digits(peak_learning_rate(plan)), digits(optimizer.beta1), digits(optimizer.beta2),
        digits(optimizer.eps), digits(optimizer.weight_decay)));
    return program;
}

Result<ExportedText> torchtitan_command(const Plan& plan) {
    PLIMSOLL_TRY(const auto program, torchtitan_program(plan));
    const Cluster& cluster = plan.cluster;
    CommandLine line(
        fmt::format("torchrun --nnodes={} --nproc-per-node={}{}", cluster.nodes, cluster.gpus_per_node,
                    cluster.nodes > 1 ? " --rdzv-backend=c10d --rdzv-endpoint=\"$MASTER_ADDR:29500\"" : ""));
    line.command(program.line);
    return ExportedText{line.text(), program.notes};
}

}  // namespace plimsoll::exports
