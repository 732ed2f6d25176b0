// SPDX-License-Identifier: Apache-2.0
// LLaMA-Factory and Axolotl: YAML on top of transformers' TrainingArguments.
#include "core/interop/export_parts.h"

namespace plimsoll::exports {

namespace {

/// A model's folder, or words to replace.
std::string model_path(const Plan& plan) { return plan.model.weights.empty() ? "MODEL_OR_FOLDER" : plan.model.weights; }

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
    // Its own switch is the other way round.
    json["disable_gradient_checkpointing"] = !arguments["gradient_checkpointing"].get<bool>();
    arguments.erase("gradient_checkpointing");
    json.update(arguments);
    json["flash_attn"] = plan.numerics.attention == Attention::Flash ? "fa2" : "disabled";
    if (plan.layout.zero_stage > 0) json["deepspeed"] = "ds.json";
    note_common(plan, out.notes);
    out.text = to_yaml(json);
    return out;
}

Result<ExportedText> axolotl(const Plan& plan) {
    ExportedText out;
    const Layout& layout = plan.layout;
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
    json["attn_implementation"] = plan.numerics.attention == Attention::Flash ? "flash_attention_2" : "eager";
    if (layout.tp > 1) json["tensor_parallel_size"] = layout.tp;
    if (layout.cp > 1) json["context_parallel_size"] = layout.cp;
    if (layout.zero_stage > 0) json["deepspeed"] = "ds.json";
    note_common(plan, out.notes);
    out.text = to_yaml(json);
    return out;
}

}  // namespace plimsoll::exports
