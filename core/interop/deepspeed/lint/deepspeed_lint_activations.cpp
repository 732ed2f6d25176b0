// SPDX-License-Identifier: Apache-2.0
#include "core/base/json.h"
#include "core/interop/deepspeed/lint/deepspeed_case.h"

namespace plimsoll::deepspeed {

namespace {

constexpr std::string_view block = "activation_checkpointing";
std::string activations_key(std::string_view name) { return fmt::format("{}.{}", block, name); }

}  // namespace

void lint_activations(Case& c) {
    const Json* given = c.at(block);
    if (!given || !given->is_object()) return;
    const bool partition = c.flag(activations_key("partition_activations"));
    const bool contiguous = c.flag(activations_key("contiguous_memory_optimization"));
    const bool on_cpu = c.flag(activations_key("cpu_checkpointing"));
    if (contiguous && !partition) {
        c.danger("contiguous-checkpoints", activations_key("contiguous_memory_optimization"),
                 "it fails without partition_activations when deepspeed.checkpointing.configure is called: write both");
    }
    const Json* count = c.at(activations_key("number_checkpoints"));
    if (contiguous && (!count || count->is_null())) {
        c.danger(
            "number-checkpoints", activations_key("number_checkpoints"),
            "contiguous_memory_optimization asks for it (\"Must specify the number of layers\"): write the model's "
            "number of layers");
    }
    if (on_cpu && !partition) {
        c.ignored("cpu-checkpointing", activations_key("cpu_checkpointing"),
                  "checkpoints go to the host only with partition_activations: write both");
    }
    if (!partition && !contiguous && !on_cpu) return;
    if (c.launch.hugging_face) {
        c.ignored("checkpointing-elsewhere", block,
                  "the Trainer never reads this block: set gradient_checkpointing to true in the training arguments");
    } else {
        c.note("checkpointing-elsewhere", block,
               "the block turns nothing on: it acts in model code that calls deepspeed.checkpointing, and "
               "partition_activations saves memory only with tensor parallelism");
    }
}

}  // namespace plimsoll::deepspeed
