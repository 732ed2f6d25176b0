// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/estimate/reduce_bucket.h"
#include "core/estimate/terms.h"

namespace plimsoll {
namespace {

std::string number(Count count) { return format_count(count.value()); }

/// DeepSpeed's default stage3_max_live_parameters, in elements.
constexpr std::int64_t live_parameters = 1'000'000'000;

}  // namespace

// At the peak, in the backward of log_softmax, three fp32 copies of [tokens, V] are alive: log_softmax's output, the
// gradient of its output and the gradient of its input (the logits themselves are freed after the forward). The head's
// backward then holds the logits' gradient, the gradient of the head's matrix and that of its input: with few tokens
// that is more. Micro-batches in flight behind this one keep log_softmax's output.
Count logits_peak(const Plan& plan) {
    const Count vocabulary = share(plan.model.vocab_size, plan.layout.tp);
    const auto e = bytes_of(plan.numerics.dtype);
    const Count head = e * (tokens(plan) * vocabulary + (vocabulary + tokens(plan)) * plan.model.hidden_size);
    return std::max(12 * tokens(plan) * vocabulary, head);
}

Term logits_term(const Plan& plan, std::int64_t in_flight) {
    const Count vocabulary = share(plan.model.vocab_size, plan.layout.tp);
    const Count waiting = (in_flight - 1) * (4 * tokens(plan) * vocabulary);
    const auto e = bytes_of(plan.numerics.dtype);
    auto formula = logits_peak(plan) == 12 * tokens(plan) * vocabulary
                       ? fmt::format(
                             "tokens × V × (4 B log-softmax + 4 B its gradient + 4 B gradient of the fp32 logits) "
                             "= {} × {} × 12",
                             number(tokens(plan)), number(vocabulary))
                       : fmt::format(
                             "{0} B × (T V + V h + T h), gradients of logits, head and its input = {0} × ({1} × "
                             "{2} + {2} × {3} + {1} × {3})",
                             e, number(tokens(plan)), number(vocabulary), number(plan.model.hidden_size));
    if (in_flight > 1)
        formula += fmt::format(" + {} waiting micro-batches × 4 B × {} × {}", in_flight - 1, number(tokens(plan)),
                               number(vocabulary));
    return {
        "logits_and_loss",
        "Logits and loss",
        Category::Buffers,
        (logits_peak(plan) + waiting).value(),
        std::move(formula),
        "cross-entropy on fp32 logits, measured on Plimsoll's engine; vocabulary split by tp (Shoeybi et al. 2019)"};
}

std::vector<Term> communication_buffers(const Plan& plan, const Slice& slice) {
    const auto& layout = plan.layout;
    const auto e = bytes_of(plan.numerics.dtype);
    const auto gradient = e == 2 && plan.numerics.fp32_gradients ? 4 : e;
    const Count whole = e * tokens(plan) * plan.model.hidden_size;
    std::vector<Term> terms;
    const auto add = [&](const char* key, const char* name, Count bytes, std::string formula, const char* source) {
        terms.push_back({key, name, Category::Buffers, bytes.value(), std::move(formula), source});
    };

    if (sharding(layout).dense > 1 && layout.zero_stage == 0)
        add("gradient_buckets", "Gradient buckets", 0,
            fmt::format("0: gradients are views into the {} MiB buckets", plan.training.bucket_mib),
            "PyTorch DDP, gradient_as_bucket_view (Li et al. 2020)");
    if (sharding(layout).dense > 1 && layout.zero_stage >= 1) {
        const Count elements = reduce_bucket_elements(slice);
        const auto buckets = reduce_buckets(plan);
        add("reduce_bucket", buckets == 1 ? "Gradient reduce bucket" : "Gradient reduce buckets",
            buckets * gradient * elements,
            fmt::format("{0}{1} B × min(5e8, P) = {0}{1} × {2}; the all-gather of parameters writes in place",
                        buckets == 1 ? "" : fmt::format("{} × ", buckets), gradient, number(elements)),
            "DeepSpeed reduce_bucket_size, default 5e8 elements; two under overlap_comm in stages 1 and 2");
    }
    if (sharding(layout).dense > 1 && layout.zero_stage >= 3) {
        const Count elements = std::min(Count(live_parameters), slice.total);
        add("live_parameters", "Gathered parameters", e * elements,
            fmt::format("{} B × min(1e9, P) = {} × {}; prefetched ones included", e, e, number(elements)),
            "DeepSpeed stage3_max_live_parameters, default 1e9 elements");
    }
    if (layout.pp > 1) {
        const Count tensor = share(whole, layout.sequence_parallel ? layout.tp : 1);
        add("pipeline_buffers", "Pipeline send and receive", 2 * tensor,
            fmt::format("2 × {} B × tokens × h{} = 2 × {}", e, layout.sequence_parallel ? " / tp" : "", number(tensor)),
            "Narayanan et al. 2021, section 2.2: the stage's boundary tensor, one going out and one coming in");
    }
    if (layout.sequence_parallel)
        add("sequence_parallel_buffer", "Gathered sequence", whole,
            fmt::format("{} B × tokens × h = {} × {} × {}", e, e, number(tokens(plan)),
                        format_count(plan.model.hidden_size)),
            "Korthikanti et al. 2022, section 4.2.2: all-gather before a column-parallel product");
    if (layout.cp > 1) {
        const Count block = 2 * e * tokens(plan) * (share(plan.model.num_kv_heads, layout.tp) * plan.model.head_size());
        add("context_parallel_buffers", "Ring of keys and values", 2 * block,
            fmt::format("2 × (K and V of one block) = 2 × {}", number(block)),
            "Ring Attention (Liu et al. 2023): one block going out, one coming in");
    }
    return terms;
}

}  // namespace plimsoll
