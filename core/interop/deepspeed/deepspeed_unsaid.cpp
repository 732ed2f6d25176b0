// SPDX-License-Identifier: Apache-2.0
#include "core/interop/deepspeed/deepspeed_parts.h"
#include "core/interop/export_notes/export_notes.h"

namespace plimsoll::deepspeed {

namespace {

void activations(const Layout& layout, Notes& notes) {
    if (layout.recompute == Recompute::Full && layout.recompute_every > 1) {
        notes.push_back(fmt::format(
            "layout.recompute_every is not in the file: the model's code has to checkpoint one layer in {} only.",
            layout.recompute_every));
    }
    if (layout.recompute_stages > 0) {
        notes.push_back(fmt::format(
            "layout.recompute_stages is not in the file: the model's code has to checkpoint on the first {} pipeline stages only.",
            layout.recompute_stages));
    }
    if (layout.compress_activations) {
        notes.push_back("layout.compress_activations is not in the file: DeepSpeed keeps activations in full.");
    }
    if (layout.offload_activations) {
        notes.push_back(
            "layout.offload_activations is not in the file: wrap the forward pass in "
            "torch.autograd.graph.save_on_cpu(pin_memory=True).");
    }
    if (layout.loss_chunks > 1) {
        notes.push_back(
            fmt::format("layout.loss_chunks is not in the file: the model's code has to work out the loss in {} "
                        "pieces, for example "
                        "with Liger Kernel's fused linear cross-entropy.",
                        layout.loss_chunks));
    }
}

}  // namespace

void note_unsaid(const Plan& plan, Notes& notes) {
    activations(plan.layout, notes);
    if (plan.layout.pp > 1 && plan.layout.split == Split::Balanced) {
        notes.push_back(
            "The balanced split is not in the file: partition_method=\"parameters\" of PipelineModule comes nearest.");
    }
    if (plan.training.all_reduce_group > 0) {
        notes.push_back("training.all_reduce_group is not in the file: NCCL chooses how an all-reduce runs.");
    }
    if (plan.model.moe() && (plan.model.capacity_factor > 0 || plan.model.router_z_loss > 0)) {
        notes.push_back(
            "The experts' capacity factor and the router's losses are not in the file: they are arguments of the model's code.");
    }
    if (!plan.model.weights.empty()) {
        notes.push_back(
            fmt::format("model.weights is not in the file: load {} in the training script before deepspeed.initialize.",
                        plan.model.weights));
    }
    exports::note_stability(plan, "the file", {}, notes);
    exports::note_adapters(plan, "the file", true, notes);
}

}  // namespace plimsoll::deepspeed
