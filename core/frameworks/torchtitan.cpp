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
/// Chunked: 16-bit logits and gradient, fp32 for a piece of them; with the head, the piece alone. Compiled: 16-bit logits
/// and gradient only.
double torchtitan_loss_bytes(const Workload& work) {
    switch (work.loss) {
        case LossKind::Materialised:
            return work.layout.tp > 1 && work.loss_parallel ? 18 : 12;
        case LossKind::Chunked:
            return 4 + 12.0 / static_cast<double>(work.loss_pieces);
        case LossKind::ChunkedHead:
            return 12.0 / static_cast<double>(work.loss_pieces);
        case LossKind::Fused:
            return 4;
    }
    return 12;
}

/// Ranks over which FSDP shards: dp ranks hold whole weights without ZeRO (data_parallel_replicate_degree).
std::int64_t sharding_ranks(const Workload& work) {
    return (work.layout.zero_stage > 0 ? work.layout.dp : 1) * work.layout.cp;
}

/// An expert lies on dp x cp x tp / (ep x etp) ranks and is sharded over them; the ranks of the stage together hold each
/// weight once.
Count own_parameters(const Workload& work, const StageShape& shape) {
    const bool sharded = work.layout.zero_stage > 0;
    return share(shape.dense, sharding_ranks(work)) + share(shape.experts, sharded ? work.expert_ranks() : 1);
}

}  // namespace

std::vector<Term> torchtitan(const Workload& work, const StageShare& stage) {
    TermList list;
    const auto& layout = work.layout;
    const auto shape = stage_shape(work, stage);
    const Count all = shape.total();
    const auto ranks = sharding_ranks(work);
    const Count own = own_parameters(work, shape);
    const bool away = layout.offload_parameters != Offload::None;
    const auto sharded = [&](double bytes) {
        return fmt::format("{:g} B × ({}) / {} = {:g} × {}", bytes, shape.text, ranks, bytes, number(own));
    };
    const auto add = [&](const char* key, const char* name, Category category, double bytes) {
        list.add(key, name, category, away ? Count(0) : scaled(bytes, own),
                 away ? "0 on the device: CPUOffloadPolicy keeps it in host memory" : sharded(bytes), fsdp2);
    };
    // training.dtype bfloat16 keeps weights, gradients and states in bf16.
    const std::int64_t each = work.pure_half ? 2 : 4;
    const auto named = [&](const char* name) {
        return fmt::format("{} ({}{})", name, work.pure_half ? "bf16" : "fp32", ranks > 1 ? " shard" : "");
    };
    add("parameters", named("Parameters").c_str(), Category::Parameters, static_cast<double>(each));
    add("gradients", named("Gradients").c_str(), Category::Gradients, static_cast<double>(each));
    add("moments", "Optimizer states", Category::Optimizer, moment_bytes(work, each));
    const Count e = bytes_of(work);
    // With pipeline stages, and below ZeRO-3, the weights stay gathered after the forward pass.
    const bool stays = layout.pp > 1 || (ranks > 1 && layout.zero_stage < 3);
    if (stays)
        list.add("gathered_parameters", "Gathered parameters", Category::Parameters, e * all,
                 per_parameter(static_cast<double>(e.value()), all),
                 "torchtitan: parallelize.py, reshard_after_forward is off under pipelines and with never");
    if (layout.pp > 1)
        // Gradients gather in fp32 before they are reduced once.
        list.add("unsharded_gradients", "Gradients before the reduction", Category::Gradients, 4 * all,
                 per_parameter(4, all), fsdp2);

    const auto kept = kept_activations(work, stage);
    list.add("activations", "Activations", Category::Activations, kept.bytes, kept.text,
             "torchtitan: activation_checkpoint.py; op by op");

    const Count tokens = work.tokens(), hidden = e * tokens * work.model.hidden_size;
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
    if (ranks > 1 && (!stays || layout.pp > 1))
        list.add("gathered_layers", "Gathered layers", Category::Buffers, 2 * e * shape.layer,
                 fmt::format("2 layers × {} B × {}: one computes, one is on its way", e.value(), number(shape.layer)),
                 fsdp2);
    const auto tensors = stepped_tensors(work, shape, own);
    list.add_step(away ? Count(0) : step_temporaries(work.optimizer, work.step, tensors), 0,
                  away ? "0, in host memory" : step_temporaries_text(work.optimizer, work.step, tensors),
                  "torchtitan: components/optimizer.py, implementation \"fused\"; torch/optim/adam.py");
    return list.take();
}

std::vector<Term> torchtitan_host(const Workload& work, const StageShare& stage) {
    if (work.layout.offload_parameters == Offload::None) return {};
    TermList list;
    const Count own = own_parameters(work, stage_shape(work, stage));
    const auto add = [&](const char* key, const char* name, Category category, double bytes) {
        list.add(key, name, category, scaled(bytes, own), per_parameter(bytes, own),
                 "PyTorch FSDP2: CPUOffloadPolicy (torchtitan's training.enable_cpu_offload)");
    };
    add("host_parameters", "Parameters (fp32 shard)", Category::Parameters, 4);
    add("host_gradients", "Gradients (fp32 shard)", Category::Gradients, 4);
    add("host_moments", "Optimizer states", Category::Optimizer, moment_bytes(work));
    return list.take();
}

}  // namespace plimsoll::framework_terms
