// SPDX-License-Identifier: Apache-2.0
// Notes on the weights that a training starts from.
#include "core/interop/export_notes/export_notes.h"

namespace plimsoll::exports {

void note_weights(const Plan& plan, std::string_view who, std::string_view how, Notes& notes) {
    if (plan.model.weights.empty()) return;
    notes.push_back(fmt::format("model.weights {} is not in {}: {}.", plan.model.weights, who, how));
}

std::string from_pretrained(const Plan& plan) {
    return fmt::format("the script loads it, {}.from_pretrained(\"{}\")",
                       plan.model.encoder_decoder() ? "AutoModelForSeq2SeqLM" : "AutoModelForCausalLM",
                       plan.model.weights);
}

}  // namespace plimsoll::exports
