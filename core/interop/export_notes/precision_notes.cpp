// SPDX-License-Identifier: Apache-2.0
// Notes on the copies of weights, their rounding and the states' precision.
#include <fmt/format.h>

#include "core/interop/export_notes/export_notes.h"

namespace plimsoll::exports {

namespace {

bool says(const PrecisionWords& words, WeightCopies copies) {
    switch (copies) {
        case WeightCopies::Masters:
            return words.masters;
        case WeightCopies::Autocast:
            return words.autocast;
        case WeightCopies::Pure:
            return words.pure;
    }
    return false;
}

void note_rounding(const Numerics& numerics, std::string_view who, const PrecisionWords& words, Notes& notes) {
    if (numerics.weights != WeightCopies::Pure) return;
    const char* instead = nullptr;
    if (numerics.rounding == Rounding::Stochastic && !words.stochastic) {
        instead = "pass an optimizer that rounds so, such as torchao's with bf16_stochastic_round=True";
    } else if (numerics.rounding == Rounding::Kahan && !words.kahan) {
        instead = "pass an optimizer that compensates, such as optimi's with kahan_sum=True";
    }
    if (instead == nullptr) return;
    notes.push_back(
        fmt::format("numerics.rounding {} is not in {}, where an update below half a last digit is lost: {}.",
                    name_of(numerics.rounding), who, instead));
}

}  // namespace

void note_precision(const Plan& plan, std::string_view who, const PrecisionWords& words, Notes& notes) {
    const Numerics& numerics = plan.numerics;
    if (numerics.half() && !says(words, numerics.weights)) {
        notes.push_back(
            fmt::format("numerics.weights {} is not in {}: {} there.", name_of(numerics.weights), who, words.instead));
    }
    if (numerics.half()) note_rounding(numerics, who, words, notes);
    const OptimizerKind kind = plan.optimizer.kind;
    if (kind == OptimizerKind::AdamW8bit || kind == OptimizerKind::Adafactor || words.state_dtype) return;
    const bool pure = numerics.half() && numerics.weights == WeightCopies::Pure && words.pure;
    const Dtype there = pure ? numerics.dtype : Dtype::Fp32;
    if (there != plan.optimizer.state_dtype) {
        notes.push_back(
            fmt::format("optimizer.state_dtype {} is not in {}: the states are in {} there, as the weights "
                        "that are updated.",
                        name_of(plan.optimizer.state_dtype), who, name_of(there)));
    }
}

}  // namespace plimsoll::exports
