// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/estimate/deepspeed_terms.h"
#include "core/estimate/sharded_buffers.h"
#include "core/estimate/terms.h"

namespace plimsoll {

void communication_buffers(const Plan& plan, const Slice& slice, const StageActivations& stage, EngineBuffers engine,
                           TermSink& sink) {
    const auto& layout = plan.layout;
    const auto e = bytes_of(plan.numerics.dtype);
    const Count whole = e * tokens(plan) * plan.model.hidden_size;
    const auto add = [&](const char* key, const char* name, Count bytes, auto&& formula, const char* source) {
        sink.add(key, Category::Buffers, bytes, [&] { return Words{name, formula(), source}; });
    };

    // Gathered buffers hold all weights; reduced buffers hold the gradients of trained weights.
    const Slice& trained = slice.trained();
    const bool shared = sharding(layout).dense > 1, own = engine == EngineBuffers::Plimsoll;
    if (shared && (layout.zero_stage == 0 || (own && layout.zero_stage == 1)))
        add(
            "gradient_buckets", "Gradient buckets", 0,
            [&] { return fmt::format("0: gradients are views into the {} MiB buckets", plan.training.bucket_mib); },
            "PyTorch DDP, gradient_as_bucket_view (Li et al. 2020)");
    if (own && shared && layout.zero_stage >= 2) {
        const auto sharded = sharded_buffers(plan, layout.zero_stage == 2 ? trained : slice, stage.a_layer);
        const Count without = std::max(stage.loss, stage.needed);
        const Count with = std::max(stage.loss + sharded.at_loss, stage.needed + sharded.in_backward);
        add(
            "zero_buffers", layout.zero_stage == 2 ? "Gradient buckets" : "Gathered weights and gradients",
            with - without,
            [&] {
                return fmt::format("max(G + {}, W + {}) − max(G, W) = max({}, {}) − {}; {}", number(sharded.at_loss),
                                   number(sharded.in_backward), number(stage.loss + sharded.at_loss),
                                   number(stage.needed + sharded.in_backward), number(without),
                                   sharded_buffers_text(plan, layout.zero_stage == 2 ? trained : slice, sharded));
            },
            "Plimsoll's engine: a bucket has memory while it fills and travels, a unit's weights while it computes");
    }
    if (!own) deepspeed_buffers(plan, slice, sink);
    if (layout.pp > 1) {
        const Count tensor = share(whole, layout.sequence_parallel ? layout.tp : 1);
        add(
            "pipeline_buffers", "Pipeline send and receive", 2 * tensor,
            [&] {
                return fmt::format("2 × {} B × tokens × h{} = 2 × {}", e, layout.sequence_parallel ? " / tp" : "",
                                   number(tensor));
            },
            "Narayanan et al. 2021, section 2.2: the stage's boundary tensor, one going out and one coming in");
    }
    // Plimsoll's engine keeps the gathered sequence, which therefore counts among the activations.
    if (layout.sequence_parallel && !own)
        add(
            "sequence_parallel_buffer", "Gathered sequence", whole,
            [&] {
                return fmt::format("{} B × tokens × h = {} × {} × {}", e, e, number(tokens(plan)),
                                   format_count(plan.model.hidden_size));
            },
            "Korthikanti et al. 2022, section 4.2.2: all-gather before a column-parallel product");
    // In Plimsoll's engine the ring's buffers are free by the peak, which lies in an MLP or at the loss.
    if (layout.cp > 1 && !own) {
        const Count block = 2 * e * tokens(plan) * (share(plan.model.num_kv_heads, layout.tp) * plan.model.head_size());
        add(
            "context_parallel_buffers", "Ring of keys and values", 2 * block,
            [&] { return fmt::format("2 × (K and V of one block) = 2 × {}", number(block)); },
            "Ring Attention (Liu et al. 2023): one block going out, one coming in");
    }
}

}  // namespace plimsoll
