// SPDX-License-Identifier: Apache-2.0
// Accelerate's config file (release 1.15): top-level keys are checked, nested ones are not.
#include "core/base/json.h"
#include "core/interop/deepspeed/deepspeed_parts.h"
#include "core/interop/exports/accelerate_parts.h"

namespace plimsoll::exports {

namespace accelerate {

namespace {

/// bf16 weights alone are the model's own; Accelerate then casts nothing.
std::string_view mixed_precision(const Numerics& numerics) {
    const bool mixed = numerics.half() && numerics.weights != WeightCopies::Pure;
    return mixed ? name_of(numerics.dtype) : "no";
}

}  // namespace

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
              {"mixed_precision", mixed_precision(plan.numerics)},
              {"num_machines", cluster.nodes},
              {"num_processes", cluster.world_size()},
              {"rdzv_backend", cluster.nodes > 1 ? "c10d" : "static"},
              {"same_network", true},
              {"use_cpu", plan.cluster.on_cpu()}};
    if (cluster.nodes > 1) json["main_process_ip"] = "HEAD_NODE";
    return json;
}

void note_recipe(const Plan& plan, bool deepspeed, Notes& notes) {
    note_precision(plan, title,
                   {.masters = true,
                    .autocast = !deepspeed,
                    .pure = !deepspeed,
                    .instead = "name a DeepSpeed file in deepspeed_config_file (plimsoll export deepspeed)"},
                   notes);
    if (!deepspeed && plan.numerics.half() && plan.numerics.weights == WeightCopies::Pure) {
        notes.push_back("numerics.weights pure needs a model in bf16: load it with dtype=torch.bfloat16.");
    }
}

void note_script(const Plan& plan, const Unsaid& unsaid, Notes& notes) {
    notes.push_back(fmt::format(
        "The micro-batch ({}), the optimizer, the learning rate, the sequence length ({}), the steps ({}) and the seed "
        "are not in {}: the script sets them.",
        plan.layout.micro_batch, plan.data.sequence_length, plan.training.steps, title));
    if (plan.cluster.nodes > 1) {
        notes.push_back("On each node set machine_rank, and main_process_ip to the address of the first node.");
    }
    note_parallelism(plan, title, unsaid, notes);
    note_rest(plan, title, notes);
    note_stability(plan, title, {}, notes);
    note_adapters(plan, title, true, notes);
    note_weights(plan, title, from_pretrained(plan), notes);
}

}  // namespace accelerate

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
    Json json = accelerate::head(plan, "DEEPSPEED");
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
    accelerate::note_recipe(plan, true, out.notes);
    accelerate::note_script(plan, whole_layout, out.notes);
    out.text = to_yaml(json);
    return out;
}

}  // namespace plimsoll::exports
