// SPDX-License-Identifier: Apache-2.0
#include "core/plan/hugging_face/peft_keys.h"

namespace plimsoll {

namespace {

using enum KeyUse;

constexpr std::string_view begin = "how the adapter began; init_lora_weights says whether the base has changed";

constexpr FileKey keys[] = {
    {"peft_type", Understood, "LORA, or refused"},
    {"r", Understood, "adapter.rank"},
    {"lora_alpha", Understood, "adapter.alpha"},
    {"use_rslora", Understood, "adapter.rank_stabilized"},
    {"target_modules", Understood, "adapter.targets"},
    {"base_model_name_or_path", Understood, "model.weights"},
    {"fan_in_fan_out", Understood, "how the matrices of the model's family lie"},

    {"peft_version", Harmless, "of the file"},
    {"inference_mode", Harmless, "whether PEFT freezes the adapter that it reads"},
    {"runtime_config", Harmless, "how PEFT runs"},

    {"revision", Kept, "of the base on the hub"},
    {"auto_mapping", Kept, "the base's class"},
    {"task_type", Kept, "PEFT's class around the model"},
    {"lora_dropout", Kept, "for PEFT's further training; a plan's adapters train without dropout"},
    {"init_lora_weights", Kept, "read to see whether the base has changed"},
    {"layers_pattern", Kept, "of layers_to_transform"},
    {"megatron_core", Kept, "of megatron_config"},
    {"qalora_group_size", Kept, "of use_qalora"},
    {"eva_config", Kept, begin},
    {"corda_config", Kept, begin},
    {"lora_ga_config", Kept, begin},

    {"bias", Judged, "trained biases", "\"none\""},
    {"use_dora", Judged, "DoRA"},
    {"modules_to_save", Judged, "modules that train as a whole"},
    {"layers_to_transform", Judged, "adapters on some layers only"},
    {"layer_replication", Judged, "layers that are doubled"},
    {"rank_pattern", Judged, "ranks of their own for some matrices"},
    {"alpha_pattern", Judged, "scales of their own for some matrices"},
    {"exclude_modules", Judged, "matrices left out by name"},
    {"target_parameters", Judged, "adapters on parameters that are no Linear"},
    {"trainable_token_indices", Judged, "trained tokens"},
    {"ensure_weight_tying", Judged, "adapters that are tied as their layers are"},
    {"lora_bias", Judged, "biases in the adapters"},
    {"alora_invocation_tokens", Judged, "activated LoRA"},
    {"use_qalora", Judged, "QALoRA"},
    {"use_bdlora", Judged, "block-diagonal LoRA"},
    {"arrow_config", Judged, "routing between adapters"},
    {"kasa_config", Judged, "KaSA"},
    {"monteclora_config", Judged, "sampled adapters"},
    {"velora_config", Judged, "VeLoRA's backward pass"},
    {"megatron_config", Judged, "Megatron's parallel layers"},
    {"loftq_config", Judged, "LoftQ, which changes the base weights"},
};

}  // namespace

std::span<const FileKey> peft_keys() { return keys; }

}  // namespace plimsoll
