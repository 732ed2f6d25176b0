// SPDX-License-Identifier: Apache-2.0
// Notes on what a target has no words for, shared by the exports.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/plan/plan.h"

namespace plimsoll::exports {

using Notes = std::vector<std::string>;

/// A note for each part of the layout that has no word in `who`: of those named by the flags.
struct Unsaid {
    bool tensor = false, pipeline = false, context = false, expert = false, sequence = false;
};
void note_parallelism(const Plan& plan, std::string_view who, const Unsaid& unsaid, Notes& notes);
inline constexpr Unsaid whole_layout{
    .tensor = true, .pipeline = true, .context = true, .expert = true, .sequence = true};
/// What a target has words for of what keeps deep and wide models stable; of the rest none has.
struct StabilityWords {
    bool qk_norm = false, mup = false;
};
/// Norm placement, norms on queries and keys, initial weights, muP, z-loss, the embedding's gradient, AdaGC, the noise
/// scale and the guard: a note for each that the plan sets and `who` has no words for.
void note_stability(const Plan& plan, std::string_view who, const StabilityWords& words, Notes& notes);
/// The low-rank adapters, where `who` has no words for them; `transformers`: its script can wrap the model with PEFT.
void note_adapters(const Plan& plan, std::string_view who, bool transformers, Notes& notes);
/// What no target can say: activations in 8 bits or in host memory, the loss in pieces, learning rates by kind of
/// parameter.
void note_rest(const Plan& plan, std::string_view who, Notes& notes);

}  // namespace plimsoll::exports
