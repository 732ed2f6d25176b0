// SPDX-License-Identifier: Apache-2.0
// LLaMA-Factory and Axolotl: YAML on top of transformers' TrainingArguments.
#include <fmt/ranges.h>

#include <cmath>

#include "core/base/json.h"
#include "core/interop/exports/export_parts.h"
#include "core/plan/adapter.h"

namespace plimsoll::exports {

namespace {

/// A model's folder, or a placeholder.
std::string model_path(const Plan& plan) { return plan.model.weights.empty() ? "MODEL_OR_FOLDER" : plan.model.weights; }

/// FlashAttention-2 computes in 16 bits alone (transformers/modeling_utils.py, _flash_attn_2_can_dispatch).
bool takes_flash(const Plan& plan) {
    return plan.numerics.attention == Attention::Flash && plan.numerics.dtype != Dtype::Fp32;
}

void note_common(const Plan& plan, Notes& notes) {
    notes.push_back(plan.model.weights.empty()
                        ? "The model is to be named: a Hugging Face repository or folder in place of MODEL_OR_FOLDER."
                        : "The weights are those of model.weights.");
    notes.push_back("The data are to be named: DATASET stands for them.");
    if (plan.layout.zero_stage > 0) {
        notes.push_back(
            "ZeRO and offload are in ds.json (plimsoll export deepspeed), to be put beside this file without its "
            "train_batch_size, optimizer and scheduler.");
    }
}

/// Both tools take alpha as a whole number.
std::int64_t whole_alpha(const Plan& plan, Notes& notes) {
    const std::int64_t alpha = std::max<std::int64_t>(1, std::llround(plan.adapter.alpha));
    if (static_cast<double>(alpha) != plan.adapter.alpha) {
        notes.push_back(fmt::format("adapter.alpha {:g} is {} in the file: lora_alpha is a whole number.",
                                    plan.adapter.alpha, alpha));
    }
    return alpha;
}

Json llama_factory_adapter(const Plan& plan, Notes& notes) {
    Json json{{"finetuning_type", "lora"},
              {"lora_rank", plan.adapter.rank},
              {"lora_alpha", whole_alpha(plan, notes)},
              {"lora_dropout", 0},
              {"lora_target", fmt::format("{}", fmt::join(target_modules(plan), ","))},
              {"use_rslora", plan.adapter.rank_stabilized}};
    if (!plan.adapter.weights.empty()) json["adapter_name_or_path"] = plan.adapter.weights;
    return json;
}

Json axolotl_adapter(const Plan& plan, Notes& notes) {
    Json json{{"adapter", "lora"},
              {"lora_r", plan.adapter.rank},
              {"lora_alpha", whole_alpha(plan, notes)},
              {"lora_dropout", 0},
              {"lora_target_modules", target_modules(plan)},
              {"peft_use_rslora", plan.adapter.rank_stabilized}};
    if (!plan.adapter.weights.empty()) json["lora_model_dir"] = plan.adapter.weights;
    return json;
}

}  // namespace

Result<ExportedText> llama_factory(const Plan& plan) {
    ExportedText out;
    Json json{{"model_name_or_path", model_path(plan)},
              {"stage", "pt"},
              {"do_train", true},
              {"finetuning_type", "full"},
              {"dataset", "DATASET"},
              {"cutoff_len", plan.data.sequence_length},
              {"output_dir", fmt::format("out/{}", job_name(plan))}};
    Json arguments = training_arguments(plan, whole_layout, out.notes);
    // LLaMA-Factory's own switch is the inverse.
    json["disable_gradient_checkpointing"] = !arguments["gradient_checkpointing"].get<bool>();
    arguments.erase("gradient_checkpointing");
    json.update(arguments);
    if (plan.numerics.half() && plan.numerics.weights == WeightCopies::Pure) {
        json["bf16"] = false;
        json["pure_bf16"] = true;
    }
    const bool flash = plan.numerics.attention == Attention::Flash;
    json["flash_attn"] = takes_flash(plan) ? "fa2" : flash ? "sdpa" : "disabled";
    if (adapts(plan)) json.update(llama_factory_adapter(plan, out.notes));
    if (plan.layout.zero_stage > 0) json["deepspeed"] = "ds.json";
    note_common(plan, out.notes);
    if (plan.cluster.world_size() == 1 && plan.layout.zero_stage > 0)
        out.notes.push_back("LLaMA-Factory takes a DeepSpeed file on one GPU only with FORCE_TORCHRUN=1.");
    if (plan.cluster.nodes > 1)
        out.notes.push_back("On each node set NNODES, NODE_RANK, MASTER_ADDR and MASTER_PORT for llamafactory-cli.");
    out.text = to_yaml(json);
    return out;
}

Result<ExportedText> axolotl(const Plan& plan) {
    ExportedText out;
    const Layout& layout = plan.layout;
    if (layout.cp > 1 && plan.numerics.dtype == Dtype::Fp32) {
        return bad_input(
            "Axolotl's context parallelism is FlashAttention-2's, which computes in 16 bits: set numerics.dtype to bf16 or "
            "layout.cp to 1, it is {}, for this export",
            layout.cp);
    }
    Json arguments = training_arguments(plan, {.pipeline = true, .expert = true, .sequence = true}, out.notes);
    Json json{{"base_model", model_path(plan)},
              {"datasets", Json::array({{{"path", "DATASET"}, {"type", "completion"}}})},
              {"sequence_len", plan.data.sequence_length},
              {"output_dir", fmt::format("out/{}", job_name(plan))},
              {"micro_batch_size", layout.micro_batch},
              {"optimizer", arguments["optim"]},
              {"lr_scheduler", arguments["lr_scheduler_type"]}};
    for (const char* moved :
         {"per_device_train_batch_size", "optim", "lr_scheduler_type", "save_strategy", "use_cpu"}) {
        arguments.erase(moved);
    }
    json.update(arguments);
    if (plan.numerics.half() && plan.numerics.weights == WeightCopies::Autocast) {
        out.notes.push_back(
            "Axolotl loads the weights in bf16 where bf16 is true, and they have no fp32 copy: numerics.weights pure.");
    }
    const bool flash = plan.numerics.attention == Attention::Flash;
    // Its schema refuses context parallelism with another one.
    json["attn_implementation"] = takes_flash(plan) || layout.cp > 1 ? "flash_attention_2" : flash ? "sdpa" : "eager";
    if (layout.cp > 1 && !flash) {
        out.notes.push_back(
            "Axolotl's context parallelism is FlashAttention-2's: it stands in place of numerics.attention eager.");
    }
    if (layout.tp > 1) json["tensor_parallel_size"] = layout.tp;
    if (layout.cp > 1) json["context_parallel_size"] = layout.cp;
    if (adapts(plan)) json.update(axolotl_adapter(plan, out.notes));
    if (layout.zero_stage > 0) json["deepspeed"] = "ds.json";
    note_common(plan, out.notes);
    out.text = to_yaml(json);
    return out;
}

}  // namespace plimsoll::exports
