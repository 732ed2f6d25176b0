// SPDX-License-Identifier: Apache-2.0
#include "core/remedies/why_not.h"

#include <algorithm>
#include <vector>

namespace plimsoll {

namespace {

double share_of(Bytes part, Bytes whole) {
    return static_cast<double>(part) / static_cast<double>(std::max<Bytes>(whole, 1));
}

std::string percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

bool is_state(Category category) {
    return category == Category::Parameters || category == Category::Gradients || category == Category::Optimizer;
}

std::string made_of_states(const Plan& plan, const RankMemory& rank, Bytes states) {
    const auto& layout = plan.layout;
    const double each = static_cast<double>(states) / static_cast<double>(std::max<std::int64_t>(rank.parameters, 1));
    std::string text = fmt::format("Model states are {}: {:.3g} B for each of the {} parameters it works with",
                                   format_bytes(states), each, format_count(rank.parameters));
    const auto same = layout.dp * layout.cp;
    if (same > 1 && layout.zero_stage == 0)
        text += fmt::format("; all {} data-parallel ranks hold the same, since layout.zero_stage is 0", same);
    else if (same > 1 && layout.zero_stage < 3)
        text += fmt::format("; {} {} still whole on each of the {} data-parallel ranks under ZeRO-{}",
                            layout.zero_stage == 1 ? "parameters and gradients" : "parameters", "are", same,
                            layout.zero_stage);
    else if (same > 1)
        text += fmt::format(", shared out over {} ranks by ZeRO-3", same);
    return text + ".";
}

std::string made_of_activations(const Plan& plan, const RankMemory& rank, Bytes bytes) {
    const auto& layout = plan.layout;
    std::string text = fmt::format("Activations are {}: {} a layer and micro-batch", format_bytes(bytes),
                                   format_bytes(rank.activations_per_layer));
    text += fmt::format(", in {} of {} sequence{} x {} tokens",
                        rank.layers == 1 ? "1 layer" : fmt::format("{} layers", rank.layers), layout.micro_batch,
                        layout.micro_batch == 1 ? "" : "s", format_count(plan.data.sequence_length));
    if (rank.in_flight > 1) text += fmt::format(", {} micro-batches in flight", rank.in_flight);
    const auto full = rank.activations_by_recompute[static_cast<std::size_t>(Recompute::Full)];
    if (layout.recompute != Recompute::Full && full < bytes)
        text += fmt::format("; recomputing every layer would leave {}", format_bytes(full));
    return text + ".";
}

std::string largest_term(const RankMemory& rank, Category category) {
    const Term* largest = nullptr;
    for (const Term& term : rank.terms)
        if (term.category == category && (largest == nullptr || term.bytes > largest->bytes)) largest = &term;
    return largest == nullptr
               ? std::string()
               : fmt::format("{} are {}, the most of it {} ({}).", name_of(category), format_bytes(rank.of(category)),
                             largest->name, format_bytes(largest->bytes));
}

}  // namespace

std::string why_words(const Plan& plan, const MemoryEstimate& estimate) {
    const RankMemory& rank = estimate.fullest();
    const Bytes total = rank.total();
    const std::string who = estimate.stages.size() > 1 ? fmt::format("{}, the fullest,", rank.label) : "A rank";
    std::string text = total > estimate.usable
                           ? fmt::format("{} needs {} and {} are usable: {} too many.", who, format_bytes(total),
                                         format_bytes(estimate.usable), format_bytes(total - estimate.usable))
                           : fmt::format("{} needs {} of {} usable: {} are free.", who, format_bytes(total),
                                         format_bytes(estimate.usable), format_bytes(estimate.usable - total));

    struct Part {
        Bytes bytes;
        std::string words;
    };
    Bytes states = 0;
    for (std::size_t c = 0; c < category_names.size(); ++c)
        if (is_state(static_cast<Category>(c))) states += rank.of(static_cast<Category>(c));
    const Bytes activations = rank.of(Category::Activations);
    std::vector<Part> parts{{states, made_of_states(plan, rank, states)},
                            {activations, made_of_activations(plan, rank, activations)},
                            {rank.of(Category::Buffers), largest_term(rank, Category::Buffers)},
                            {rank.of(Category::Overhead), largest_term(rank, Category::Overhead)}};
    std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.bytes > b.bytes; });
    // What makes up a fifth is worth a sentence.
    for (std::size_t i = 0; i < parts.size(); ++i)
        if (i == 0 || share_of(parts[i].bytes, total) >= 0.2)
            text +=
                fmt::format(" {} That is {} of the rank.", parts[i].words, percent(share_of(parts[i].bytes, total)));
    return text;
}

}  // namespace plimsoll
