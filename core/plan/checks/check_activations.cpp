// SPDX-License-Identifier: Apache-2.0
// Recomputation, offload of activations, the pieces of the loss, and what else comes with a pipeline.
#include "core/plan/checks/problems.h"
#include "core/plan/schedule_kind.h"

namespace plimsoll {

namespace {

void check_recomputation(Problems& problems, const Layout& layout) {
    if (layout.recompute_every > 1 && layout.recompute != Recompute::Full) {
        problems.add("layout.recompute_every",
                     "layout.recompute_every {} picks layers to recompute in full, but layout.recompute is {}; set it "
                     "to 1 or layout.recompute to full",
                     layout.recompute_every, name_of(layout.recompute));
    }
    if (layout.recompute_stages > 0 && layout.recompute == Recompute::None) {
        problems.add(
            "layout.recompute_stages",
            "layout.recompute_stages {} picks pipeline ranks that recompute, but layout.recompute is none; set "
            "it to 0 or layout.recompute to selective, full or mlp",
            layout.recompute_stages);
    }
    if (layout.recompute_stages > layout.pp) {
        problems.add(
            "layout.recompute_stages",
            "layout.recompute_stages {} is more than the pipeline has (layout.pp {}); take {} or fewer, or 0 for all",
            layout.recompute_stages, layout.pp, layout.pp);
    }
}

void check_loss_chunks(Problems& problems, const Plan& plan) {
    const std::int64_t tokens = plan.data.sequence_length / plan.layout.cp;
    if (plan.layout.loss_chunks > tokens && tokens > 0) {
        problems.add("layout.loss_chunks",
                     "layout.loss_chunks {} is more than the {} tokens of a sequence on a rank (data.sequence_length / "
                     "layout.cp); take {} or fewer",
                     plan.layout.loss_chunks, tokens, tokens);
    }
}

void check_schedule_file(Problems& problems, const Layout& layout) {
    if (!layout.schedule_file.empty() && layout.pp == 1) {
        problems.add(
            "layout.schedule_file",
            "layout.schedule_file lists the operations of a pipeline, but layout.pp is 1; clear it or raise layout.pp");
    }
}

/// Each stage's best cut is sought for each layer.
constexpr double most_balanced = 4e6;

void check_split(Problems& problems, const Plan& plan) {
    const Layout& layout = plan.layout;
    const double stages =
        static_cast<double>(layout.pp) * static_cast<double>(chunks_of(layout.schedule, layout.chunks));
    const double cells = stages * static_cast<double>(plan.model.num_layers);
    if (layout.split == Split::Balanced && layout.pp > 1 && cells > most_balanced) {
        problems.add("layout.split",
                     "{} stages x {} layers are too many to balance, their product has to stay under {}; set "
                     "layout.split to even",
                     format_short(stages), format_count(plan.model.num_layers), format_short(most_balanced));
    }
}

}  // namespace

void check_activations(Problems& problems, const Plan& plan) {
    check_recomputation(problems, plan.layout);
    check_loss_chunks(problems, plan);
    check_schedule_file(problems, plan.layout);
    check_split(problems, plan);
    if (plan.layout.offload_activations && plan.cluster.on_cpu()) {
        problems.add("layout.offload_activations",
                     "layout.offload_activations moves activations from the GPU to the host, but cluster.gpu is cpu; "
                     "set it to false");
    }
}

}  // namespace plimsoll
