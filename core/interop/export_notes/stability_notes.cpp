// SPDX-License-Identifier: Apache-2.0
// Notes on settings for the stability of deep and wide models that a target cannot express.
#include "core/interop/export_notes/export_notes.h"

namespace plimsoll::exports {

namespace {

void note_model(const Model& model, std::string_view who, const StabilityWords& words, Notes& notes) {
    const auto note = [&](bool is_unsaid, std::string key, std::string_view instead) {
        if (is_unsaid) notes.push_back(fmt::format("{} is not in {}: {}.", key, who, instead));
    };
    note(model.norm_placement != NormPlacement::Pre,
         fmt::format("model.norm_placement {}", name_of(model.norm_placement)),
         "the model's code has to place its norms so");
    note(model.qk_norm && !words.qk_norm, "model.qk_norm",
         "the model's code has to norm queries and keys, as Qwen3's does");
    note(model.init != Init::Gpt2, fmt::format("model.init {}", name_of(model.init)),
         "the model's code has to draw its initial weights so");
    note(model.mup_base_width > 0 && !words.mup, fmt::format("model.mup_base_width {}", model.mup_base_width),
         fmt::format("the model's code has to scale its initial weights, and the optimizer's parameter groups the "
                     "rates of matrices by 1/{:g} (muP)",
                     model.width_factor()));
    note(model.z_loss > 0, fmt::format("model.z_loss {:g}", model.z_loss),
         "the model's code has to add the z-loss to its loss");
    note(model.embedding_gradient != 1, fmt::format("model.embedding_gradient {:g}", model.embedding_gradient),
         "the model's code has to shrink the embedding's gradient");
}

}  // namespace

void note_stability(const Plan& plan, std::string_view who, const StabilityWords& words, Notes& notes) {
    note_model(plan.model, who, words, notes);
    if (plan.optimizer.clip_rule == ClipRule::AdaGc) {
        notes.push_back(fmt::format(
            "optimizer.clip_rule adagc is not in {}: the global norm is limited to optimizer.clip there.", who));
    }
    if (plan.training.noise_scale_every > 0) {
        notes.push_back(fmt::format("training.noise_scale_every is not in {}: nothing is measured there.", who));
    }
    const Guard& guard = plan.guard;
    if (guard.detector != GuardDetector::Off &&
        (guard.clip || guard.skip || guard.cut_lr || guard.checkpoint || guard.rollback)) {
        notes.push_back(fmt::format("guard.{} and its actions are not in {}: a spike is answered by nobody there.",
                                    name_of(guard.detector), who));
    }
}

}  // namespace plimsoll::exports
