// SPDX-License-Identifier: Apache-2.0
#include "core/estimate/sharded_buffers.h"

#include <algorithm>

#include "core/estimate/terms.h"
#include "core/plan/adapter.h"

namespace plimsoll {
ShardedBuffers sharded_buffers(const Plan& plan, const Slice& slice, Count kept_layer) {
    const auto& layout = plan.layout;
    ShardedBuffers buffers;
    if (layout.zero_stage < 2) return buffers;
    const auto e = bytes_of(plan.numerics.weight_dtype()), g = bytes_of(plan.numerics.gradient_dtype());
    const auto ranks = sharding(layout).dense;
    const Count head = slice.head + slice.norms;
    if (layout.zero_stage == 2) {
        const Count cap = Count(plan.training.bucket_mib * MiB);
        // A tied model's tables have buckets of their own, whose gradients come last.
        const Count first = g * slice.head;
        const Count rest = g * (slice.total - slice.head - (plan.model.tied_head ? slice.embedding : Count(0)));
        const Count at_first = first > cap ? first + std::min(rest, cap) : std::min(first + rest, cap);
        // Later, one bucket is reduced while the next one fills, and the layers of the first bucket are done.
        const Count layers_a_bucket = share(cap, std::max<std::int64_t>((g * slice.layer).value(), 1));
        const Count both = std::min(first + rest, 2 * cap);
        const Count later = both > cap ? both + share(cap, ranks) - layers_a_bucket * kept_layer : Count(0);
        // Experts have buckets of their own, which the head's gradients do not open.
        const Count experts = std::min(g * slice.experts, cap);
        const bool attention_first = adapts(plan) && before_first_gradient(plan) > 0;
        const Count opened = attention_first ? at_first - before_first_gradient(plan)
                             : experts > 0   ? std::max(at_first - experts, at_first - before_first_gradient(plan))
                                             : at_first;
        buffers.in_backward = std::max(opened, later);
        return buffers;
    }
    const Count tied = slice.last && slice.head == 0 && slice.first ? slice.embedding : Count(0);
    // In transfer while a unit computes: the next unit's weights; from a drive its shard, which is read ahead; from
    // host memory nothing.
    const Count coming = layout.offload_parameters == Offload::None ? e * slice.layer
                         : layout.offload_parameters == Offload::Nvme && plan.cluster.on_cpu()
                             ? e * share(slice.layer, ranks)
                             : Count(0);
    if (slice.last) {
        buffers.at_loss = e * (head + tied) + coming;
    }
    // The peak comes before the layer's first gradient, or right after it when the memory that led to the gradient is
    // free again. Experts have buckets of their own.
    const Count bucket = g * slice.layer;
    const Count experts = share(slice.experts, std::max<std::int64_t>(slice.layers, 1));
    const Count current = (experts > 0 ? g * experts : bucket) - before_first_gradient(plan);
    const Count weights = e * slice.layer + coming;
    const Count at_last_layer = weights + current + (slice.last ? g * head : Count(0));
    const Count further_on = weights + current + bucket + share(bucket, ranks) - kept_layer;
    buffers.in_backward = std::max(at_last_layer, further_on);
    return buffers;
}

std::string sharded_buffers_text(const Plan& plan, const Slice& slice, const ShardedBuffers& buffers) {
    if (plan.layout.zero_stage == 2)
        return fmt::format("in a layer's backward {} of gradients in buckets of up to {} MiB",
                           number(buffers.in_backward), plan.training.bucket_mib);
    return fmt::format(
        "beside the loss {}: the head's weights and the last layer's, on their way; in a layer's backward {}: {} and the "
        "gradients of one or two of {} parameters",
        number(buffers.at_loss), number(buffers.in_backward),
        plan.layout.offload_parameters == Offload::None ? "two layers' weights" : "a layer's weights",
        number(slice.layer));
}

}  // namespace plimsoll
