// SPDX-License-Identifier: Apache-2.0
// torchtitan: FSDP2 (or FSDP1) with tensor, pipeline and context parallelism.
#include <fmt/format.h>

#include <algorithm>

#include "core/frameworks/framework_terms.h"

namespace plimsoll::framework_terms {
namespace {

constexpr auto fsdp2 = "PyTorch FSDP2: fsdp_param.py, _fsdp_param_group.py, _fsdp_collectives.py";

/// Bytes of an element of the logits at the loss. One rank: log-softmax's output, its gradient and that of the fp32
/// logits. Loss parallelism adds the exponentials and the 16-bit logits (torch/distributed/tensor/parallel/loss.py).
/// Chunked: 16-bit logits and gradient, fp32 for an eighth; with the head, the eighth alone. Compiled: 16-bit logits
/// and gradient only.
double torchtitan_loss_bytes(const Workload& work) {
    switch (work.loss) {
        case LossKind::Materialised:
            return work.layout.tp > 1 && work.loss_parallel ? 18 : 12;
        case LossKind::Chunked:
            return 4 + 12.0 / 8;
        case LossKind::ChunkedHead:
            return 12.0 / 8;
        case LossKind::Fused:
            return 4;
    }
    return 12;
}

}  // namespace

std::vector<Term> torchtitan(const Workload& work, const StageShare& stage) {
    TermList list;
    const auto& layout = work.layout;
    const auto shape = stage_shape(work, stage);
    const Count all = shape.total();
    const auto ranks = layout.dp * layout.cp;
    // An expert lies on dp x cp x tp / (ep x etp) ranks and is sharded over them; the ranks of the stage together hold
    // each weight once.
    const Count own = share(shape.dense, ranks) + share(shape.experts, work.expert_ranks());
    const auto sharded = [&](double bytes) {
        return fmt::format("{:g} B × ({}) / {} = {:g} × {}", bytes, shape.text, ranks, bytes, number(own));
    };
    list.add("parameters", "Parameters (fp32 shard)", Category::Parameters, 4 * own, sharded(4), fsdp2);
    list.add("gradients", "Gradients (fp32 shard)", Category::Gradients, 4 * own, sharded(4), fsdp2);
    list.add("moments", "Optimizer states", Category::Optimizer, scaled(moment_bytes(work.optimizer), own),
             sharded(moment_bytes(work.optimizer)), fsdp2);
    if (layout.pp > 1) {
        // With pipeline stages the weights stay gathered between micro-batches (reshard_after_forward is off), and
        // gradients gather in fp32 before they are reduced once.
        list.add("gathered_parameters", "Gathered parameters", Category::Parameters, 2 * all, per_parameter(2, all),
                 "torchtitan: parallelize.py, reshard_after_forward under pipelines");
        list.add("unsharded_gradients", "Gradients before the reduction", Category::Gradients, 4 * all,
                 per_parameter(4, all), fsdp2);
    }

    const auto kept = kept_activations(work, stage);
    list.add("activations", "Activations", Category::Activations, kept.bytes, kept.text,
             "torchtitan: activation_checkpoint.py; op by op");

    const Count e = bytes_of(work), tokens = work.tokens(), hidden = e * tokens * work.model.hidden_size;
    Count loss;
    if (stage.last) {
        const Count size = logit_elements(work);
        const Count head = share(work.vocabulary, layout.tp) * work.model.hidden_size;
        loss = scaled(torchtitan_loss_bytes(work), size) + e * head + (layout.tp > 1 ? hidden : Count(0));
        list.add(
            "logits_and_loss", "Logits and loss", Category::Buffers, loss,
            fmt::format("{:g} B × tokens × V / tp + the gathered head = {:g} × {} + {} × {}{}",
                        torchtitan_loss_bytes(work), torchtitan_loss_bytes(work), number(size), e.value(), number(head),
                        layout.tp > 1 ? fmt::format(" + the gathered sequence {}", number(hidden)) : ""),
            "torchtitan: loss.py; torch/distributed/tensor/parallel/loss.py");
    }
    const Count needed =
        layer_backward(work) + (layout.recompute != Recompute::None ? kept.again : Count(0)) + 6 * shape.layer;
    list.add("layer_backward", "One layer's backward", Category::Activations, needed - loss,
             fmt::format("max(0, W − G) = max(0, {} − {}); W what is recomputed, its gradients, the layer's 16-bit "
                         "gradients and their fp32 copy",
                         number(needed), number(loss)),
             fsdp2);
    if (ranks > 1)
        list.add("gathered_layers", "Gathered layers", Category::Buffers, 4 * shape.layer,
                 fmt::format("2 layers × 2 B × {}: one computes, one is on its way", number(shape.layer)), fsdp2);
    return list.take();
}

}  // namespace plimsoll::framework_terms
