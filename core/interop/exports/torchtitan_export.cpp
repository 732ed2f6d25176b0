// SPDX-License-Identifier: Apache-2.0
// torchtitan: 0.2 reads a TOML file, 0.3 a Python function by name with the same fields as options.
#include <algorithm>
#include <array>

#include "core/base/json.h"
#include "core/control/batch_rules.h"
#include "core/control/lr_schedule.h"
#include "core/interop/exports/export_parts.h"

namespace plimsoll::exports {

namespace {

constexpr std::string_view torchtitan_name = "torchtitan's config";

struct Flavor {
    std::string_view preset;
    std::string_view flavor;
};
constexpr std::array<Flavor, 3> flavors{{{"llama-3-8b", "8B"}, {"llama-3-70b", "70B"}, {"llama-3-405b", "405B"}}};

std::string flavor_of(const Plan& plan, Notes& notes) {
    for (const Flavor& each : flavors) {
        if (plan.model.preset == each.preset) return std::string(each.flavor);
    }
    notes.push_back(
        fmt::format("torchtitan has no flavor of this model: add one named \"{}\" to its llama3 model's table, with "
                    "dim {}, n_layers "
                    "{}, n_heads {}, n_kv_heads {} and vocab_size {}.",
                    job_name(plan), plan.model.hidden_size, plan.model.num_layers, plan.model.num_heads,
                    plan.model.num_kv_heads, plan.model.vocab_size));
    return job_name(plan);
}

std::string_view schedule_word(const Layout& layout, Notes& notes) {
    switch (layout.schedule) {
        case Schedule::GPipe:
            return "GPipe";
        case Schedule::OneFOneB:
            return "1F1B";
        case Schedule::Interleaved:
            return "Interleaved1F1B";
        case Schedule::ZbV:
            return "ZBVZeroBubble";
        case Schedule::DualPipeV:
            return "DualPipeV";
        default:
            break;
    }
    notes.push_back(fmt::format("layout.schedule {} is not in {}: 1F1B stands in its place.", name_of(layout.schedule),
                                torchtitan_name));
    return "1F1B";
}

Json torchtitan_parallelism(const Plan& plan, Notes& notes) {
    const Layout& layout = plan.layout;
    const bool sharded = layout.zero_stage > 0;
    Json json{{"data_parallel_replicate_degree", sharded ? 1 : layout.dp},
              {"data_parallel_shard_degree", sharded ? layout.dp : 1},
              {"fsdp_reshard_after_forward", layout.zero_stage == 3 ? "always" : "never"},
              {"tensor_parallel_degree", layout.tp},
              {"pipeline_parallel_degree", layout.pp},
              {"context_parallel_degree", layout.cp},
              {"expert_parallel_degree", layout.ep}};
    if (layout.pp > 1) {
        json["pipeline_parallel_schedule"] = schedule_word(layout, notes);
        json["pipeline_parallel_microbatch_size"] = layout.micro_batch;
    }
    if (layout.zero_stage == 1) {
        notes.push_back("torchtitan has no ZeRO-1: with fsdp_reshard_after_forward never it is ZeRO-2.");
    }
    return json;
}

Json torchtitan_learning_rate(const Plan& plan, Notes& notes) {
    const LrSchedule& lr = plan.lr;
    const std::int64_t steps = plan.training.steps;
    Json json{{"warmup_steps", warmup_updates(lr, steps)}, {"decay_type", "cosine"}, {"min_lr_factor", lr.min_ratio}};
    bool alike = !lr.tail && lr.warmup_shape == LrShape::Linear;
    switch (lr.kind) {
        case LrKind::Constant:
        case LrKind::TransformersConstant:
            json["decay_ratio"] = 0.0;
            json["decay_type"] = "linear";
            break;
        case LrKind::Linear:
        case LrKind::TransformersLinear:
            json["decay_type"] = "linear";
            break;
        case LrKind::Cosine:
        case LrKind::TransformersCosine:
        case LrKind::TransformersCosineMinLr:
            break;
        case LrKind::Wsd:
        case LrKind::TransformersWsd:
            json["decay_ratio"] = static_cast<double>(decay_updates(lr, steps)) / static_cast<double>(steps);
            json["decay_type"] = lr.decay_shape == LrShape::Cosine         ? "cosine"
                                 : lr.decay_shape == LrShape::OneMinusSqrt ? "sqrt"
                                                                           : "linear";
            break;
        default:
            alike = false;
    }
    if (!alike) {
        notes.push_back(fmt::format("torchtitan has no schedule like lr.kind {}: {} is the nearest.", name_of(lr.kind),
                                    json["decay_type"].get<std::string>()));
    }
    return json;
}

Json training(const Plan& plan, Notes& notes) {
    const Layout& layout = plan.layout;
    // Under a pipeline, torchtitan cuts the local batch into micro-batches; without, it accumulates.
    const std::int64_t local = layout.pp > 1 ? layout.micro_batch * layout.accumulation : layout.micro_batch;
    constexpr double no_limit = 1e9;
    Json json{{"local_batch_size", local},
              {"global_batch_size", layout.global_batch()},
              {"seq_len", plan.data.sequence_length},
              {"steps", plan.training.steps},
              {"max_norm", plan.optimizer.clip > 0 ? plan.optimizer.clip : no_limit},
              {"dtype", "float32"},
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

Json torchtitan_recompute(const Layout& layout, Notes& notes) {
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

/// Settings that both releases have.
Result<Json> common(const Plan& plan, Notes& notes) {
    if (plan.numerics.dtype == Dtype::Fp16) {
        return bad_input("torchtitan has no fp16: set numerics.dtype to bf16 or fp32 for this export");
    }
    if (plan.model.encoder_decoder()) {
        return bad_input("torchtitan has no encoder-decoder models: model.family t5 cannot be exported to it");
    }
    Json json{{"lr_scheduler", torchtitan_learning_rate(plan, notes)},
              {"training", training(plan, notes)},
              {"parallelism", torchtitan_parallelism(plan, notes)},
              {"activation_checkpoint", torchtitan_recompute(plan.layout, notes)}};
    json["checkpoint"] = {{"enable", plan.training.checkpoint_every > 0},
                          {"interval", std::max<std::int64_t>(plan.training.checkpoint_every, 1)},
                          {"keep_latest_k", plan.training.keep_checkpoints == 1 ? 2 : plan.training.keep_checkpoints}};
    json["debug"] = {{"seed", plan.training.seed}};
    notes.push_back("training.dataset is torchtitan's own c4_test: name yours, and its tokenizer in hf_assets_path.");
    note_rest(plan, torchtitan_name, notes);
    note_stability(plan, torchtitan_name, {}, notes);
    note_kept_keys(plan, torchtitan_name, notes);
    note_adapters(plan, torchtitan_name, false, notes);
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

Result<ExportedText> torchtitan_toml(const Plan& plan) {
    ExportedText out;
    PLIMSOLL_TRY(auto json, common(plan, out.notes));
    const Optimizer& optimizer = plan.optimizer;
    if (plan.layout.tp > 1 && !plan.layout.sequence_parallel) {
        out.notes.push_back(
            "torchtitan 0.2 splits norms along the sequence wherever tensor_parallel_degree is above 1.");
    }
    json["job"] = {{"dump_folder", fmt::format("out/{}", job_name(plan))},
                   {"description", plan.name.empty() ? plan.model.name : plan.name}};
    json["model"] = {{"name", "llama3"}, {"flavor", flavor_of(plan, out.notes)}};
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

Result<ExportedText> torchtitan_command(const Plan& plan) {
    ExportedText out;
    PLIMSOLL_TRY(auto json, common(plan, out.notes));
    json.erase("activation_checkpoint");
    if (plan.layout.recompute == Recompute::Full && plan.layout.recompute_every > 1) {
        out.notes.push_back(
            "layout.recompute_every is not in torchtitan 0.3: its selective policy stands in its place, which recomputes "
            "a part of each layer.");
    }
    // torchtitan refuses CUDA graphs, its default, with pipelines; with expert parallelism they need special kernels.
    json["training"]["disable_cuda_graphs"] = plan.layout.pp > 1 || plan.layout.ep > 1;
    if (plan.layout.tp > 1) json["parallelism"]["enable_sequence_parallel"] = plan.layout.sequence_parallel;
    const std::string flavor = flavor_of(plan, out.notes);
    std::string config = fmt::format("llama3_{}", flavor);
    std::transform(config.begin(), config.end(), config.begin(), [](unsigned char c) { return std::tolower(c); });
    std::replace(config.begin(), config.end(), '-', '_');
    CommandLine line(fmt::format("torchrun --nnodes={} --nproc-per-node={} -m torchtitan.train", plan.cluster.nodes,
                                 plan.cluster.gpus_per_node));
    line.option("--module", "llama3").option("--config", config);
    for (const auto& [section, block] : json.items()) add_options(line, block, fmt::format("--{}", section));
    line.words(fmt::format("activation_checkpoint:{}", recomputation_word(plan.layout)));
    out.notes.push_back(fmt::format(
        "The optimizer is set in the Python function that --config names (torchtitan 0.3): {} with lr {}, betas ({}, {}), "
        "eps {}, weight_decay {} in optimizer.param_groups.",
        name_of(plan.optimizer.kind), digits(peak_learning_rate(plan)), digits(plan.optimizer.beta1),
        digits(plan.optimizer.beta2), digits(plan.optimizer.eps), digits(plan.optimizer.weight_decay)));
    out.text = line.text();
    return out;
}

}  // namespace plimsoll::exports
