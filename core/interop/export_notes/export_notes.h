// SPDX-License-Identifier: Apache-2.0
// Notes on settings that a target cannot express, shared by the exports.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/plan/plan.h"

namespace plimsoll::exports {

using Notes = std::vector<std::string>;

/// The parts of a layout that `who` cannot express. note_parallelism adds a note for each flagged part that the plan
/// uses.
struct Unsaid {
    bool tensor = false, pipeline = false, context = false, expert = false, sequence = false;
};
void note_parallelism(const Plan& plan, std::string_view who, const Unsaid& unsaid, Notes& notes);
inline constexpr Unsaid whole_layout{
    .tensor = true, .pipeline = true, .context = true, .expert = true, .sequence = true};
/// Which stability settings a target can express; no target has the others.
struct StabilityWords {
    bool qk_norm = false, mup = false;
};
/// Adds a note for each of these that the plan sets and `who` cannot express: norm placement, norms on queries and
/// keys, initial weights, muP, z-loss, the embedding's gradient, AdaGC, the noise scale and the guard.
void note_stability(const Plan& plan, std::string_view who, const StabilityWords& words, Notes& notes);
/// A note for each key of the model's config.json that neither the plan nor `who`, which describes the model itself, has
/// (core/plan/hugging_face/kept_keys.h).
void note_kept_keys(const Plan& plan, std::string_view who, Notes& notes);
/// What a target can say of numerics.weights, numerics.rounding and optimizer.state_dtype.
struct PrecisionWords {
    bool masters = false, autocast = false, pure = false;
    std::string_view instead =
        {};  ///< what it keeps where it cannot say the plan's: "fp32 weights are cast where used"
    bool stochastic = false, kahan = false;
    bool state_dtype = false;  ///< false: states have the dtype of the weights that are updated
};
/// Adds a note for each of the three that the plan sets and `who` cannot express.
void note_precision(const Plan& plan, std::string_view who, const PrecisionWords& words, Notes& notes);
/// A note on low-rank adapters, for a target that cannot express them; `transformers`: the target's script can wrap the
/// model with PEFT.
void note_adapters(const Plan& plan, std::string_view who, bool transformers, Notes& notes);
/// A note where the plan starts from weights that are not in `who`; `how`: the way to start from them there.
void note_weights(const Plan& plan, std::string_view who, std::string_view how, Notes& notes);
/// `how` for a script that makes the model with transformers.
std::string from_pretrained(const Plan& plan);
/// Notes on settings that no target can express: activations in 8 bits or in host memory, the loss in pieces, learning
/// rates by kind of parameter.
void note_rest(const Plan& plan, std::string_view who, Notes& notes);

}  // namespace plimsoll::exports
