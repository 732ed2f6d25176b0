// SPDX-License-Identifier: Apache-2.0
// Accelerate's config file (release 1.15): top-level keys are checked, nested ones are not.
#include "core/base/json.h"
#include "core/interop/deepspeed/deepspeed_parts.h"
#include "core/interop/exports/export_parts.h"

namespace plimsoll::exports {

namespace {

constexpr std::string_view accelerate_name = "Accelerate's file";

Json head(const Plan& plan, std::string_view distributed_type) {
    const Cluster& cluster = plan.cluster;
    Json json{{"compute_environment", "LOCAL_MACHINE"},
              {"debug", false},
              {"distributed_type", distributed_type},
              {"downcast_bf16", "no"},
              {"enable_cpu_affinity", false},
              {"machine_rank", 0},
              {"main_process_ip", nullptr},
              {"main_process_port", 29500},
              {"main_training_function", "main"},
              {"mixed_precision", plan.numerics.dtype == Dtype::Fp32 ? "no" : dtype_of(plan)},
              {"num_machines", cluster.nodes},
              {"num_processes", cluster.world_size()},
              {"rdzv_backend", cluster.nodes > 1 ? "c10d" : "static"},
              {"same_network", true},
              {"use_cpu", plan.cluster.on_cpu()}};
    if (cluster.nodes > 1) json["main_process_ip"] = "HEAD_NODE";
    return json;
}

void note_accelerate_script(const Plan& plan, Notes& notes) {
    notes.push_back(fmt::format(
        "The micro-batch ({}), the optimizer, the learning rate, the sequence length ({}), the steps ({}) and the seed "
        "are not in {}: the script sets them.",
        plan.layout.micro_batch, plan.data.sequence_length, plan.training.steps, accelerate_name));
    if (plan.cluster.nodes > 1) {
        notes.push_back("On each node set machine_rank, and main_process_ip to the address of the first node.");
    }
}

Json accelerate_parallelism(const Plan& plan) {
    const Layout& layout = plan.layout;
    return {{"parallelism_config_dp_replicate_size", 1},
            {"parallelism_config_dp_shard_size", layout.dp},
            {"parallelism_config_tp_size", layout.tp},
            {"parallelism_config_cp_size", layout.cp},
            {"parallelism_config_cp_comm_strategy", "allgather"}};
}

}  // namespace

Result<ExportedText> accelerate_deepspeed(const Plan& plan) {
    ExportedText out;
    const Layout& layout = plan.layout;
    const std::int64_t stage = deepspeed::exported_stage(plan);
    const auto device = [](Offload offload) { return name_of(offload); };
    Json deepspeed{{"zero_stage", stage},
                   {"gradient_accumulation_steps", layout.accumulation},
                   {"gradient_clipping", plan.optimizer.clip},
                   {"offload_optimizer_device", device(layout.offload_optimizer)},
                   {"offload_param_device", device(layout.offload_parameters)},
                   {"zero3_init_flag", stage == 3},
                   {"zero3_save_16bit_model", stage == 3}};
    if (layout.offload_optimizer == Offload::Nvme) deepspeed["offload_optimizer_nvme_path"] = layout.nvme_path;
    if (layout.offload_parameters == Offload::Nvme) deepspeed["offload_param_nvme_path"] = layout.nvme_path;
    if (plan.cluster.nodes > 1) deepspeed["deepspeed_multinode_launcher"] = "standard";
    if (plan.model.moe() && stage == 3) deepspeed["deepspeed_moe_layer_cls_names"] = "MixtralSparseMoeBlock";
    Json json = head(plan, "DEEPSPEED");
    json["deepspeed_config"] = std::move(deepspeed);
    if (stage != layout.zero_stage) {
        out.notes.push_back(
            "ZeRO stage 1 is exported in place of stage 0, which DeepSpeed does not train in half "
            "precision correctly.");
    }
    out.notes.push_back(
        "The bucket sizes and the loss scale are not in this file: name a DeepSpeed file in deepspeed_config_file "
        "(plimsoll export deepspeed) in place of these keys; then only deepspeed_multinode_launcher and "
        "zero3_init_flag may stand beside it.");
    if (layout.recompute != Recompute::None) {
        out.notes.push_back("Recomputation is not in this file: call model.gradient_checkpointing_enable().");
    }
    note_accelerate_script(plan, out.notes);
    note_parallelism(plan, accelerate_name, whole_layout, out.notes);
    note_rest(plan, accelerate_name, out.notes);
    note_stability(plan, accelerate_name, {}, out.notes);
    note_adapters(plan, accelerate_name, true, out.notes);
    out.text = to_yaml(json);
    return out;
}

Result<ExportedText> accelerate_fsdp(const Plan& plan) {
    ExportedText out;
    const Layout& layout = plan.layout;
    const bool sharded = layout.zero_stage > 0;
    Json json = head(plan, sharded ? "FSDP" : plan.cluster.on_cpu() ? "MULTI_CPU" : "MULTI_GPU");
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
    } else {
        out.notes.push_back("Stage 0 is plain data parallelism: no fsdp_config is written.");
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
    note_accelerate_script(plan, out.notes);
    note_parallelism(plan, accelerate_name, {.pipeline = true, .expert = true, .sequence = true}, out.notes);
    note_rest(plan, accelerate_name, out.notes);
    note_stability(plan, accelerate_name, {}, out.notes);
    note_adapters(plan, accelerate_name, true, out.notes);
    out.text = to_yaml(json);
    return out;
}

}  // namespace plimsoll::exports
