// SPDX-License-Identifier: Apache-2.0
#include "core/estimate/rules_of_thumb.h"

#include "core/estimate/terms.h"

namespace plimsoll {
namespace {

constexpr std::int64_t low_factor = 10, high_factor = 12;

std::string decimal(Count bytes) { return format_bytes_decimal(bytes.value()); }

Count over_all_ranks(const MemoryEstimate& estimate, std::initializer_list<Category> categories) {
    Count bytes;
    for (const auto& stage : estimate.stages)
        for (const auto category : categories) bytes += Count(stage.ranks) * stage.of(category);
    return bytes;
}

struct PerParameter {
    std::int64_t bytes;
    std::string what;
};

/// Exact bytes of the optimizer's states a parameter.
PerParameter optimizer_bytes(const Optimizer& optimizer) {
    const std::int64_t each = bytes_of(optimizer.state_dtype);
    const auto dtype = name_of(optimizer.state_dtype);
    switch (optimizer.kind) {
        case OptimizerKind::AdamW:
        case OptimizerKind::Lamb:
            return {2 * each, fmt::format("{} for two {} moments", 2 * each, dtype)};
        case OptimizerKind::Sgd:
            return optimizer.momentum > 0 ? PerParameter{each, fmt::format("{} for a momentum in {}", each, dtype)}
                                          : PerParameter{0, "nothing for SGD without momentum"};
        case OptimizerKind::AdamW8bit:
            return {2, "2 for two 8-bit moments, their scales apart"};
        case OptimizerKind::Adafactor:
            return {0, "next to nothing for Adafactor's rows and columns"};
    }
    return {0, ""};
}

/// What stands between the gradient and the optimizer's states.
PerParameter beside_weights(const Numerics& numerics) {
    if (numerics.has_masters()) return {4, "4 fp32 master weight, "};
    if (numerics.has_compensation()) return {2, "2 for what rounding lost, "};
    return {0, ""};
}

std::string states_note(const Plan& plan, const MemoryEstimate& estimate, Count rule) {
    const Numerics& numerics = plan.numerics;
    const bool half = numerics.half();
    const std::int64_t weight = bytes_of(numerics.weight_dtype()), gradient = bytes_of(numerics.gradient_dtype());
    const auto beside = beside_weights(numerics);
    const auto optimizer = optimizer_bytes(plan.optimizer);
    const auto bytes = weight + gradient + beside.bytes + optimizer.bytes;
    const auto one_copy = decimal(Count(estimate.parameters) * bytes);
    std::string note;
    if (half)
        note = fmt::format(
            "The rule gives a parameter 8 B. Training in {} takes {} B: {} weight, {} gradient, {}{}: {} for one copy, not "
            "{}.",
            name_of(numerics.dtype), bytes, weight, gradient, beside.what, optimizer.what, one_copy, decimal(rule));
    else if (optimizer.bytes == 8)
        note = "In fp32 the rule is right for one copy: weights, gradients and two moments of 4 B each.";
    else
        note = fmt::format(
            "The rule gives a parameter 16 B, for Adam. This optimizer takes {} B: 4 weight, 4 gradient, {}: {} for one copy, not {}.",
            bytes, optimizer.what, one_copy, decimal(rule));
    if (const auto copies = plan.layout.dp * plan.layout.cp; copies > 1) {
        constexpr std::array split{"nothing", "the optimizer states", "optimizer states and gradients", "everything"};
        note += fmt::format(
            " It does not know how the {} data-parallel ranks share: ZeRO-{} splits {}, the rest is on each of them.",
            copies, plan.layout.zero_stage, split[static_cast<std::size_t>(plan.layout.zero_stage)]);
    }
    return note;
}

RuleOfThumb states(const Plan& plan, const MemoryEstimate& estimate) {
    const auto bytes = bytes_of(plan.numerics.dtype);
    RuleOfThumb rule;
    rule.name = "Model states: 4 N × bytes";
    rule.rule = states_rule(estimate.parameters, bytes);
    rule.exact = over_all_ranks(estimate, {Category::Parameters, Category::Gradients, Category::Optimizer}).value();
    rule.formula = fmt::format("4 × {} × {} B = {}", format_count(estimate.parameters), bytes, decimal(rule.rule));
    rule.note = states_note(plan, estimate, rule.rule);
    return rule;
}

RuleOfThumb activations(const Plan& plan, const MemoryEstimate& estimate) {
    const auto& m = plan.model;
    const auto bytes = bytes_of(plan.numerics.dtype);
    const auto sequences = plan.layout.dp * plan.layout.micro_batch;
    const auto length = plan.data.sequence_length;
    const auto by = [&](std::int64_t factor) {
        return activations_rule(sequences, length, m.hidden_size, m.num_layers, factor, bytes);
    };
    RuleOfThumb rule;
    rule.name = "Activations: B × L × H × n × (10 to 12) × bytes";
    rule.rule = by(high_factor);
    rule.exact = over_all_ranks(estimate, {Category::Activations}).value();
    rule.formula =
        fmt::format("{} × {} × {} × {} × (10 to 12) × {} B = {} to {}", format_count(sequences), format_count(length),
                    format_count(m.hidden_size), m.num_layers, bytes, decimal(by(low_factor)), decimal(rule.rule));
    const auto one = by(1);
    const Count buffers = over_all_ranks(estimate, {Category::Buffers});
    rule.note = fmt::format(
        "Counted op by op, this plan keeps {:.1f} values where the rule has 10 to 12. The number "
        "depends on recomputation (here {}), {} attention, the MLP ({} matrices of {}), {} key-value "
        "heads of {}, pipeline and tensor parallelism, none of which the rule knows; a LLaMA layer "
        "without recomputation keeps 18 to 19, GPT-2's 17 and its score matrices.",
        one > 0 ? static_cast<double>(rule.exact) / static_cast<double>(one) : 0.0, name_of(plan.layout.recompute),
        name_of(plan.numerics.attention), m.gated_mlp() ? 3 : 2, format_count(m.ffn_hidden_size), m.num_kv_heads,
        m.num_heads);
    if (buffers > 0) rule.note += fmt::format(" Logits and buffers ({}) come on top.", decimal(buffers));
    return rule;
}

std::string cards(Count bytes, Bytes usable) {
    const auto count = share(bytes, std::max<Bytes>(usable, 1)).value();
    return fmt::format("{} of {}", format_count(std::max<std::int64_t>(count, 1)), format_bytes(usable));
}

RuleOfThumb whole(const MemoryEstimate& estimate, const RuleOfThumb& states, const RuleOfThumb& activations,
                  std::int64_t ranks) {
    const auto quoted_states = states_rule(7'000'000'000, 2);
    const auto quoted_activations = activations_rule(32, 2048, 4096, 32, low_factor, 2);
    RuleOfThumb rule;
    rule.name = "Cards: states + activations over the card's memory";
    rule.rule = (Count(states.rule) + activations.rule).value();
    for (const auto& stage : estimate.stages)
        rule.exact = (Count(rule.exact) + Count(stage.ranks) * stage.total()).value();
    rule.formula = fmt::format("{} + {} = {}: {}", decimal(states.rule), decimal(activations.rule), decimal(rule.rule),
                               cards(rule.rule, estimate.usable));
    rule.note = fmt::format(
        "Often quoted for LLaMA-7B in BF16: {} + 160 GB = 216 GB, so four A100-80. The 160 are GiB (32 sequences of "
        "2048 × 4096 × 32 layers × 10 × 2 B = {}). What decides is the fullest rank, not the sum: the fullest of this "
        "plan's {} holds {} of {}, copies, logits, buffers and overhead included.",
        decimal(quoted_states), decimal(quoted_activations), format_count(ranks),
        format_bytes(estimate.fullest().total()), format_bytes(estimate.usable));
    return rule;
}

}  // namespace

Bytes states_rule(std::int64_t parameters, std::int64_t bytes) { return (Count(4) * parameters * bytes).value(); }

Bytes activations_rule(std::int64_t sequences, std::int64_t length, std::int64_t hidden, std::int64_t layers,
                       std::int64_t factor, std::int64_t bytes) {
    return (Count(sequences) * length * hidden * layers * factor * bytes).value();
}

std::vector<RuleOfThumb> rules_of_thumb(const Plan& plan, const MemoryEstimate& estimate) {
    const auto of_states = states(plan, estimate);
    const auto of_activations = activations(plan, estimate);
    return {of_states, of_activations, whole(estimate, of_states, of_activations, plan.layout.world_size())};
}

}  // namespace plimsoll
