// SPDX-License-Identifier: Apache-2.0
#include "core/estimate/deepspeed_terms.h"

#include <algorithm>

#include "core/estimate/optimizer_state.h"
#include "core/estimate/reduce_bucket.h"

namespace plimsoll {
namespace {

/// DeepSpeed's defaults of stage3_max_live_parameters and sub_group_size, in elements.
constexpr std::int64_t live_parameters = 1'000'000'000, sub_group = 1'000'000'000;

bool steps_on_host(const Layout& layout) { return layout.offload_optimizer != Offload::None; }

std::int64_t gradient_bytes(const Plan& plan) { return bytes_of(plan.numerics.gradient_dtype()); }

/// bf16 weights with fp32 gradients under stage 1 without offload have an optimizer of their own (engine.py:2305).
bool bf16_optimizer(const Plan& plan) {
    return plan.layout.zero_stage == 1 && plan.numerics.weight_dtype() == Dtype::Bf16 && plan.numerics.fp32_gradients &&
           !steps_on_host(plan.layout);
}

/// Bytes of a number in the buckets. Stage 1 fills them from its gradients, stage 2 before it adds to them
/// (zero/stage_1_and_2.py:1253), stage 3 in the dtype that travels (zero/stage3.py:782).
std::int64_t bucket_bytes(const Plan& plan) {
    if (plan.layout.zero_stage == 2) return bytes_of(plan.numerics.weight_dtype());
    if (plan.layout.zero_stage < 3 || plan.numerics.reduce_dtype == ReduceDtype::Gradient) return gradient_bytes(plan);
    return plan.numerics.reduce_dtype == ReduceDtype::Fp32 ? 4 : 2;
}

Count stage_3_bucket(const Plan& plan, const Slice& trained) {
    return plan.layout.zero_stage >= 3 ? bucket_bytes(plan) * reduce_bucket_elements(trained) : Count(0);
}

/// The buffer of accumulated gradients that come back from the host (zero/stage_1_and_2.py:659).
Count offload_buffer(const Plan& plan, const Slice& trained) {
    const bool there = steps_on_host(plan.layout) && plan.layout.zero_stage < 3;
    return there ? bytes_of(plan.numerics.weight_dtype()) * trained.largest : Count(0);
}

/// Dense parameters and experts are groups of their own, stepped one after the other.
Count stepped_at_once(const Plan& plan, const Slice& trained) {
    const auto groups = sharding(plan.layout);
    const Count own = std::max(share(trained.dense(), groups.dense), share(trained.experts, groups.experts));
    if (plan.layout.zero_stage == 0) return trained.total;
    return plan.layout.zero_stage >= 3 ? std::min(own, Count(sub_group)) : own;
}

struct StepNeeds {
    Count bytes;
    std::string text;
};

StepNeeds step_needs(const Plan& plan, const Slice& trained, StepLoop loop) {
    const auto stage = plan.layout.zero_stage;
    const std::int64_t e = bytes_of(plan.numerics.weight_dtype()), g = gradient_bytes(plan);
    const Count s = stepped_at_once(plan, trained);
    const auto tensors = stage > 0 ? flat_tensor(s) : SteppedTensors{s, trained.largest, false};
    const Count loop_bytes = step_temporaries(plan.optimizer, loop, tensors);
    const auto loop_text = step_temporaries_text(plan.optimizer, loop, tensors);
    const auto with_loop = [&](std::string text) {
        if (loop_text.empty()) return text;
        return fmt::format("{}{}{} of temporaries ({})", text, text.empty() ? "" : " + ", loop_text, name_of(loop));
    };
    // The gradients are fp32 where the optimizer wants them.
    if (stage == 0 || bf16_optimizer(plan) || (stage == 2 && e < g)) return {loop_bytes, with_loop("")};
    if (stage >= 3 && g == 4) return {4 * s + loop_bytes, with_loop(fmt::format("4 B × {} flat gradients", number(s)))};
    if (stage == 1 && e < g)
        return {4 * s + loop_bytes, with_loop(fmt::format("4 B × {} of the shard's gradients", number(s)))};
    // The shard's gradients count among the gradients. They are freed before the optimizer steps.
    const Count copies = (g == 4 ? Count(4) : Count(g + 4)) * s;
    const Count freed = stage < 3 ? g * s : Count(0);
    const Count steps = 4 * s + loop_bytes - freed;
    if (copies >= steps)
        return {copies, g == 4 ? fmt::format("4 B × {} flat gradients", number(s))
                               : fmt::format("({} B flat + 4 B fp32) × {} of the shard's gradients", g, number(s))};
    return {steps,
            with_loop(freed > 0 ? fmt::format("(4 B fp32 − {} B freed) × {} of the shard's gradients", g, number(s))
                                : fmt::format("4 B fp32 × {} of the shard's gradients", number(s)))};
}

}  // namespace

void deepspeed_states(const Plan& plan, const Slice& slice, TermSink& sink) {
    const Slice& trained = slice.trained();
    const auto groups = sharding(plan.layout);
    const auto stage = plan.layout.zero_stage;
    if (plan.numerics.weight_dtype() == Dtype::Fp32 && (stage == 1 || stage == 2) && !steps_on_host(plan.layout))
        sink.add("master_weights", Category::Optimizer, 4 * shard(trained, groups, true), [&] {
            return Words{"Copy of the shard that is stepped (fp32)", shard_formula(4, trained, groups, true),
                         "DeepSpeed: zero/stage_1_and_2.py:560 clones it whatever its dtype"};
        });
    if (plan.optimizer.kind == OptimizerKind::Adafactor && stage >= 1 && !steps_on_host(plan.layout)) {
        const Count whole = 4 * shard(trained, groups, true), factors = optimizer_bytes(plan, trained, true);
        sink.add("second_moment", Category::Optimizer, whole - factors, [&] {
            return Words{"Adafactor second moment, beyond its factors",
                         fmt::format("{} − {}", shard_formula(4, trained, groups, true), number(factors)),
                         "a flat shard has no rows and columns: torch.optim.Adafactor keeps a number a parameter"};
        });
    }
    if (bf16_optimizer(plan))
        sink.add("low_precision_gradients", Category::Gradients, 2 * trained.total, [&] {
            return Words{"Gradients before they are added up (bf16)", shard_formula(2, trained, groups, false),
                         "DeepSpeed: bf16_optimizer.py:503; immediate_grad_update is off in the exported file"};
        });
}

void deepspeed_buffers(const Plan& plan, const Slice& slice, TermSink& sink) {
    const auto& layout = plan.layout;
    const Slice& trained = slice.trained();
    if (layout.zero_stage >= 1) {
        const Count elements = reduce_bucket_elements(trained);
        const auto buckets = bf16_optimizer(plan) ? 1 : reduce_buckets(plan);
        sink.add("reduce_bucket", Category::Buffers, buckets * bucket_bytes(plan) * elements, [&] {
            return Words{
                buckets == 1 ? "Gradient reduce bucket" : "Gradient reduce buckets",
                fmt::format("{0}{1} B × min(5e8, P) = {0}{1} × {2}; the all-gather of parameters writes in place",
                            buckets == 1 ? "" : fmt::format("{} × ", buckets), bucket_bytes(plan), number(elements)),
                "DeepSpeed reduce_bucket_size, default 5e8 elements; two under overlap_comm in stages 1 and 2 "
                "(zero/stage_1_and_2.py:3266)"};
        });
    }
    if (layout.zero_stage >= 3 && sharding(layout).dense > 1) {
        const auto e = bytes_of(plan.numerics.weight_dtype());
        const Count elements = std::min(Count(live_parameters), slice.total);
        sink.add("live_parameters", Category::Buffers, e * elements, [&] {
            return Words{"Gathered parameters",
                         fmt::format("{} B × min(1e9, P) = {} × {}; prefetched ones included", e, e, number(elements)),
                         "DeepSpeed stage3_max_live_parameters, default 1e9 elements"};
        });
    }
    if (const Count bytes = offload_buffer(plan, trained); bytes > 0)
        sink.add("offload_gradient_buffer", Category::Buffers, bytes, [&] {
            return Words{"Gradients on their way to the host",
                         fmt::format("{} B × the largest matrix = {} × {}", bytes_of(plan.numerics.weight_dtype()),
                                     bytes_of(plan.numerics.weight_dtype()), number(trained.largest)),
                         "DeepSpeed: zero/stage_1_and_2.py:659"};
        });
}

void add_deepspeed_host(const Plan& plan, const Slice& slice, std::vector<Term>& terms) {
    const auto& layout = plan.layout;
    if (layout.offload_optimizer != Offload::Cpu || layout.zero_stage < 1) return;
    const Slice& trained = slice.trained();
    const auto groups = sharding(layout);
    const Count own = shard(trained, groups, true);
    const auto e = bytes_of(plan.numerics.weight_dtype());
    const auto add = [&](const char* key, const char* name, Category category, std::int64_t bytes, const char* source) {
        terms.push_back(
            {key, name, category, (bytes * own).value(), shard_formula(bytes, trained, groups, true), source});
    };
    if (layout.zero_stage >= 3) {
        add("host_gradient_shard", "Gradients as they are reduced", Category::Gradients, gradient_bytes(plan),
            "DeepSpeed: zero/stage3.py:791");
        return;
    }
    add("host_parameter_copy", "Weights on their way back", Category::Buffers, e,
        "DeepSpeed: zero/stage_1_and_2.py:567, param_buffer_of_bit16_for_cpu_offload_groups");
    if (layout.accumulation > 1)
        add("host_accumulated_gradients", "Gradients that add up over micro-batches", Category::Gradients, e,
            "DeepSpeed: zero/stage_1_and_2.py:1824, accumulated_grads_in_cpu");
}

Count deepspeed_step_bytes(const Plan& plan, const Slice& trained, StepLoop loop) {
    return steps_on_host(plan.layout) ? Count(0) : step_needs(plan, trained, loop).bytes;
}

void deepspeed_step(const Plan& plan, const Slice& slice, std::optional<StepLoop> loop, TermSink& sink) {
    const Slice& trained = slice.trained();
    const auto own_loop = plan.optimizer.kind == OptimizerKind::Sgd ? StepLoop::Foreach : StepLoop::Fused;
    if (steps_on_host(plan.layout)) {
        sink.add("optimizer_step", Category::Buffers, 0, [] {
            return Words{"Optimizer step", "0: the optimizer steps in host memory",
                         "DeepSpeed: zero/stage_1_and_2.py:3078, zero/stage3.py:2706"};
        });
        return;
    }
    const auto needs = step_needs(plan, trained, loop.value_or(own_loop));
    const Count stays = stage_3_bucket(plan, trained) + offload_buffer(plan, trained);
    // Stage 1 lets go of the gradients that other ranks step (zero/stage_1_and_2.py:1067).
    const Count of_others = plan.layout.zero_stage == 1 && !bf16_optimizer(plan)
                                ? gradient_bytes(plan) * (trained.total - shard(trained, sharding(plan.layout), true))
                                : Count(0);
    const Count free = sink.of(Category::Activations) + (sink.of(Category::Buffers) - stays) + of_others;
    sink.add("optimizer_step", Category::Buffers, needs.bytes - free, [&] {
        return Words{"Optimizer step, beyond backward's peak",
                     fmt::format("max(0, U − F) = max(0, {} − {}); U = {}, F what backward frees: activations, logits, "
                                 "buckets{}",
                                 number(needs.bytes), number(free), needs.text.empty() ? "0" : needs.text,
                                 of_others > 0 ? ", gradients of other ranks' shards" : ""),
                     "DeepSpeed: zero/stage_1_and_2.py:3117, zero/stage3.py:2686; torch/optim/adam.py"};
    });
}

}  // namespace plimsoll
