// SPDX-License-Identifier: Apache-2.0
// Where norms stand, initial weights, muP, and what measures or clips gradients tensor by tensor.
#include "core/plan/checks/problems.h"

namespace plimsoll {

namespace {

void check_norms(Problems& problems, const Plan& plan) {
    const Model& model = plan.model;
    const bool pre = model.norm_placement == NormPlacement::Pre;
    if (model.encoder_decoder() && !pre) {
        problems.add("model.norm_placement", "T5's norms stand before its sublayers; set model.norm_placement to pre");
    }
    if (model.encoder_decoder() && model.qk_norm) {
        problems.add("model.qk_norm", "T5 has no norms on queries and keys; set model.qk_norm to false");
    }
    if (!pre && !model.weights.empty()) {
        problems.add("model.norm_placement",
                     "model.weights starts from a checkpoint, whose norms stand before the sublayers, but "
                     "model.norm_placement is {}; set it to pre or clear model.weights",
                     name_of(model.norm_placement));
    }
    if (plan.layout.recompute == Recompute::Mlp && (!pre || model.qk_norm)) {
        problems.add(
            "layout.recompute",
            "layout.recompute mlp knows norms before attention and MLP alone, but {}; take selective or full",
            pre ? "model.qk_norm is on" : fmt::format("model.norm_placement is {}", name_of(model.norm_placement)));
    }
}

void check_initial_weights(Problems& problems, const Plan& plan) {
    const Model& model = plan.model;
    if (model.norm_placement == NormPlacement::DeepNorm && model.init != Init::Gpt2) {
        problems.add("model.init",
                     "DeepNorm has initial weights of its own (Xavier's, smaller by (8 layers)^(1/4) where they write "
                     "to the residual stream); set model.init to gpt2, or model.norm_placement to another");
    }
    if (model.mup_base_width == 0) return;
    if (model.tied_head) {
        problems.add("model.mup_base_width",
                     "muP gives embedding and output head different rates, but model.tied_head makes them one; set "
                     "model.tied_head to false or model.mup_base_width to 0");
    }
    const OptimizerKind kind = plan.optimizer.kind;
    if (kind != OptimizerKind::AdamW && kind != OptimizerKind::AdamW8bit) {
        problems.add("model.mup_base_width",
                     "muP's learning rates are Adam's here, but optimizer.kind is {}; take adamw or adamw-8bit, or set "
                     "model.mup_base_width to 0",
                     name_of(kind));
    }
    if (model.norm_placement == NormPlacement::DeepNorm || model.init == Init::Guide) {
        problems.add(
            "model.mup_base_width",
            "muP says what the initial weights are, and so does {}; set model.mup_base_width to 0 or that to another",
            model.init == Init::Guide ? "model.init guide" : "model.norm_placement deepnorm");
    }
}

void check_noise_scale(Problems& problems, const Plan& plan) {
    const Layout& layout = plan.layout;
    if (plan.training.noise_scale_every == 0) return;
    if (layout.cp > 1) {
        problems.add("training.noise_scale_every",
                     "the noise scale compares gradients of whole sequences, and layout.cp {} cuts them; set "
                     "training.noise_scale_every to 0",
                     layout.cp);
    } else if (layout.dp == 1 && (layout.accumulation == 1 || layout.pp > 1)) {
        problems.add("training.noise_scale_every",
                     "the noise scale compares a rank's gradient with that of the whole batch, and there is one rank "
                     "{}; raise layout.dp{}, or set training.noise_scale_every to 0",
                     layout.pp > 1 ? "in a pipeline stage" : "with one micro-batch",
                     layout.pp > 1 ? "" : " or layout.accumulation");
    }
}

}  // namespace

void check_stability(Problems& problems, const Plan& plan) {
    check_norms(problems, plan);
    check_initial_weights(problems, plan);
    check_noise_scale(problems, plan);
}

}  // namespace plimsoll
