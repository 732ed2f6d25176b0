// SPDX-License-Identifier: Apache-2.0
// Notes on the parts of a layout, and on settings that no target can express.
#include "core/interop/export_notes/export_notes.h"

namespace plimsoll::exports {

void note_parallelism(const Plan& plan, std::string_view who, const Unsaid& unsaid, Notes& notes) {
    const Layout& layout = plan.layout;
    const auto note = [&](bool is_unsaid, std::int64_t ranks, const char* key, const char* what) {
        if (is_unsaid && ranks > 1) {
            notes.push_back(fmt::format("{} of {} (layout.{}) is not in {}: it has to come from the training code.",
                                        what, ranks, key, who));
        }
    };
    note(unsaid.tensor, layout.tp, "tp", "Tensor parallelism");
    note(unsaid.pipeline, layout.pp, "pp", "Pipeline parallelism");
    note(unsaid.context, layout.cp, "cp", "Context parallelism");
    note(unsaid.expert, layout.ep, "ep", "Expert parallelism");
    if (unsaid.sequence && layout.sequence_parallel) {
        notes.push_back(fmt::format(
            "layout.sequence_parallel (norms split along the sequence) is not in {}: it has to come from the model's code.",
            who));
    }
}

void note_rest(const Plan& plan, std::string_view who, Notes& notes) {
    const auto note = [&](bool is_set, std::string_view key, std::string_view instead) {
        if (is_set) notes.push_back(fmt::format("{} is not in {}: {}.", key, who, instead));
    };
    const Layout& layout = plan.layout;
    note(layout.compress_activations, "layout.compress_activations", "activations are kept in full there");
    note(layout.offload_activations, "layout.offload_activations",
         "wrap the forward pass in torch.autograd.graph.save_on_cpu");
    note(layout.loss_chunks > 1, "layout.loss_chunks", "take a fused linear cross-entropy, such as Liger Kernel's");
    const Optimizer& optimizer = plan.optimizer;
    note(optimizer.embedding_lr != 1 || optimizer.head_lr != 1 || optimizer.vector_lr != 1,
         "optimizer.embedding_lr, head_lr and vector_lr", "pass parameter groups");
    note(plan.lr.extension != LrExtension::Stretch, "lr.extension",
         "its schedule spans all steps; give the rates behind lr.extended_from by a scheduler of your own");
    note(plan.training.all_reduce_group > 0, "training.all_reduce_group", "NCCL chooses how an all-reduce runs");
    note(!plan.layout.schedule_file.empty(), "layout.schedule_file", "it follows no list of operations");
}

}  // namespace plimsoll::exports
