// SPDX-License-Identifier: Apache-2.0
#include "core/base/json.h"
#include "core/interop/export_notes/export_notes.h"
#include "core/plan/adapter.h"
#include "core/plan/hugging_face/peft_config.h"

namespace plimsoll::exports {

void note_adapters(const Plan& plan, std::string_view who, bool transformers, Notes& notes) {
    if (!adapts(plan)) return;
    const Json config = peft_config(plan);
    notes.push_back(
        transformers ? fmt::format("The adapters are not in {}: wrap the model with PEFT, get_peft_model(model, "
                                   "LoraConfig(task_type=\"CAUSAL_LM\", r={}, lora_alpha={}, use_rslora={}, "
                                   "target_modules={})).",
                                   who, config["r"].dump(), config["lora_alpha"].dump(),
                                   plan.adapter.rank_stabilized ? "True" : "False", config["target_modules"].dump())
                     : fmt::format("adapter.rank {} is not in {}: all weights train there.", plan.adapter.rank, who));
}

}  // namespace plimsoll::exports
