// SPDX-License-Identifier: Apache-2.0
// Accelerate's config file with FSDP2 (release 1.15).
#include "core/interop/exports/accelerate_parts.h"

namespace plimsoll::exports {

namespace {

Json accelerate_parallelism(const Plan& plan) {
    const Layout& layout = plan.layout;
    return {{"parallelism_config_dp_replicate_size", 1},
            {"parallelism_config_dp_shard_size", layout.dp},
            {"parallelism_config_tp_size", layout.tp},
            {"parallelism_config_cp_size", layout.cp},
            {"parallelism_config_cp_comm_strategy", "allgather"}};
}

/// What Accelerate needs FSDP for: sharding; context parallelism; tensor parallelism beside data parallelism, which
/// Accelerator.prepare leaves without DDP. FSDP with nothing to shard is refused
/// (accelerate/parallelism_config.py, _validate_accelerator).
bool takes_fsdp(const Layout& layout) {
    const bool alone = layout.dp == 1 && layout.cp == 1 && layout.tp > 1;
    return !alone && (layout.zero_stage > 0 || layout.cp > 1 || (layout.tp > 1 && layout.dp > 1));
}

/// Without FSDP. Several processes are asked for by name, one is none of them.
std::string_view plain_type(const Plan& plan) {
    if (plan.cluster.world_size() == 1) return "NO";
    return plan.cluster.on_cpu() ? "MULTI_CPU" : "MULTI_GPU";
}

/// The sizes of a parallelism_config have to multiply to all processes, and FSDP shards over all that are left.
Result<void> require_no_pipeline(const Plan& plan, bool sharded) {
    const Layout& layout = plan.layout;
    if (layout.pp == 1 || (!sharded && layout.tp == 1 && layout.cp == 1)) return {};
    return bad_input(
        "Accelerate shards over every rank that tensor and context parallelism leave, and has no pipeline stages: set "
        "layout.pp to 1, it is {}, or export to Megatron-LM or torchtitan",
        layout.pp);
}

}  // namespace

Result<ExportedText> accelerate_fsdp(const Plan& plan) {
    ExportedText out;
    const Layout& layout = plan.layout;
    const bool sharded = takes_fsdp(layout);
    PLIMSOLL_CHECK(require_no_pipeline(plan, sharded));
    Json json = accelerate::head(plan, sharded ? "FSDP" : plain_type(plan));
    if (sharded) {
        const bool offload = layout.offload_optimizer != Offload::None || layout.offload_parameters != Offload::None;
        json["fsdp_config"] = {{"fsdp_version", 2},
                               {"fsdp_reshard_after_forward", layout.zero_stage == 3},
                               {"fsdp_auto_wrap_policy", "TRANSFORMER_BASED_WRAP"},
                               {"fsdp_transformer_layer_cls_to_wrap", layer_class(plan.model.family)},
                               {"fsdp_offload_params", offload},
                               {"fsdp_activation_checkpointing", layout.recompute != Recompute::None},
                               {"fsdp_cpu_ram_efficient_loading", true},
                               {"fsdp_state_dict_type", "SHARDED_STATE_DICT"}};
        if (layout.zero_stage == 1) {
            out.notes.push_back(
                "FSDP has no ZeRO-1: with fsdp_reshard_after_forward false it is ZeRO-2, which shards gradients too.");
        }
        if (offload && (layout.offload_optimizer != Offload::Cpu || layout.offload_parameters != Offload::Cpu)) {
            out.notes.push_back("FSDP offloads parameters and optimizer together, to the host only.");
        }
        if (layout.zero_stage == 0) {
            out.notes.push_back(
                "Accelerate composes tensor and context parallelism with FSDP alone: layout.zero_stage 0 is exported as "
                "ZeRO-2, with fsdp_reshard_after_forward false.");
        }
    } else {
        out.notes.push_back(
            layout.zero_stage == 0
                ? "Stage 0 is plain data parallelism: no fsdp_config is written."
                : "No fsdp_config is written: there is one data-parallel rank, and FSDP has nothing to shard.");
    }
    if (layout.tp > 1 || layout.cp > 1) json["parallelism_config"] = accelerate_parallelism(plan);
    if (layout.recompute == Recompute::Selective || layout.recompute == Recompute::Mlp || layout.recompute_every > 1) {
        out.notes.push_back("fsdp_activation_checkpointing recomputes every whole layer.");
    }
    if (!sharded && layout.recompute != Recompute::None) {
        out.notes.push_back("Recomputation is not in this file: call model.gradient_checkpointing_enable().");
    }
    out.notes.push_back(
        fmt::format("Accumulation ({}) and clipping ({:g}) are not in this file: give them to "
                    "Accelerator(gradient_accumulation_steps=…) and clip_grad_norm_.",
                    layout.accumulation, plan.optimizer.clip));
    accelerate::note_recipe(plan, false, out.notes);
    accelerate::note_script(plan, {.pipeline = true, .expert = true, .sequence = true}, out.notes);
    out.text = to_yaml(json);
    return out;
}

}  // namespace plimsoll::exports
