// SPDX-License-Identifier: Apache-2.0
#include "core/estimate/end_activations.h"

#include "core/plan/adapter.h"

namespace plimsoll {
namespace {

std::int64_t sequence_split(const Layout& layout) { return layout.sequence_parallel ? layout.tp : 1; }

}  // namespace

Count hidden_tensor(const Plan& plan) {
    return share(bytes_of(plan.numerics.dtype) * tokens(plan) * plan.model.hidden_size, sequence_split(plan.layout));
}

EndTensors end_tensors(const Plan& plan, const Slice& slice) {
    const bool t5 = plan.model.encoder_decoder();
    const Count stacks = t5 ? 2 : 1;
    const auto split = sequence_split(plan.layout);
    const Count length = share(plan.data.sequence_length, plan.layout.cp);
    EndTensors tensors;
    if (slice.first) tensors.push_back({"token ids", stacks * 8 * tokens(plan)});
    if (slice.first && plan.model.position == Position::Learned) tensors.push_back({"position ids", 8 * length});
    // cos and sin, of half a head each
    if (plan.model.position == Position::Rotary)
        tensors.push_back(
            {"rotary table", 2 * bytes_of(plan.numerics.dtype) * (length * (plan.model.head_size() / 2))});
    if (slice.first && plan.model.dropout > 0 && !adapts(plan))
        tensors.push_back({"embedding dropout mask",
                           stacks * share(mask_bytes(plan) * tokens(plan) * plan.model.hidden_size, split)});
    if (slice.last) {
        tensors.push_back({"final norm input", stacks * hidden_tensor(plan), true});
        tensors.push_back({"norm statistics", stacks * share(statistic_bytes(plan) * tokens(plan), split), true});
        // The head's matrix keeps its input for its gradient.
        if (!adapts(plan))
            tensors.push_back(
                {t5 ? "head input and encoder output" : "head input", stacks * hidden_tensor(plan), true});
        tensors.push_back({"targets", 8 * tokens(plan)});
    }
    return tensors;
}

Count final_norm_backward(const Plan& plan, const Slice& slice) {
    if (!slice.last || plan.model.norm != Norm::RmsNorm || plan.numerics.dtype == Dtype::Fp32) return 0;
    return share(22 * tokens(plan) * plan.model.hidden_size, sequence_split(plan.layout));
}

Count tied_gradient(const Plan& plan, const Slice& slice) {
    if (adapts(plan) || !plan.model.tied_head || !slice.first || !slice.last) return 0;
    return bytes_of(plan.numerics.weight_dtype()) * share(plan.model.vocab_size, plan.layout.tp) *
           plan.model.hidden_size;
}

std::string ends_formula(const Plan& plan, const Slice& slice, std::int64_t in_flight) {
    std::string sum;
    for (const auto& tensor : end_tensors(plan, slice))
        sum += fmt::format("{}{} {}", sum.empty() ? "" : " + ", tensor.what, format_count(tensor.bytes.value()));
    return fmt::format("{} in flight × ({})", in_flight, sum);
}

}  // namespace plimsoll
