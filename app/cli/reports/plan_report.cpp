// SPDX-License-Identifier: Apache-2.0
#include "app/cli/reports/plan_report.h"

#include "core/planner/layout_text.h"
#include "core/planner/neighbours.h"
#include "core/planner/recommendations.h"
#include "core/planner/space.h"

namespace plimsoll::cli {

namespace {

std::string layout_table(const std::vector<Candidate>& candidates, std::size_t show, bool price) {
    auto text = fmt::format("{:>4} {:>6} {:>10} {:>10} {:>6} {:>7} {:>10}{}  {}\n", "", "GPUs", "step", "tokens/s",
                            "MFU", "bubble", "a rank", price ? fmt::format(" {:>10}", "price/Mtok") : "", "layout");
    for (std::size_t i = 0; i < std::min(show, candidates.size()); ++i) {
        const auto& c = candidates[i];
        text += fmt::format("{:>4} {:>6} {:>10} {:>10} {:>5.1f}% {:>6.1f}% {:>10}{}  {}{}\n", i + 1, c.gpus(),
                            format_seconds(c.step), format_short(c.tokens_per_second), 100 * c.mfu,
                            c.step > 0 ? 100 * c.time.of(TimePart::Bubble) / c.step : 0, format_bytes(c.peak),
                            price ? fmt::format(" {:>10.4f}", c.price_per_million_tokens) : "", layout_words(c.layout),
                            c.on_front ? " *" : "");
    }
    return text;
}

std::string where_time_goes(const Candidate& best) {
    std::string text = "where a step of the best goes:";
    for (std::size_t i = 0; i < time_part_names.size(); ++i)
        if (best.step > 0 && best.time.parts[i] / best.step >= 0.005)
            text += fmt::format(" {} {:.1f} %,", time_part_names[i], 100 * best.time.parts[i] / best.step);
    text.back() = '\n';
    return text;
}

}  // namespace

std::string plan_report(const PlanRequest& request, const PlanResult& result, std::size_t show) {
    const auto& c = result.counts;
    auto text = fmt::format("{} sequences of {} tokens a step on {} x {} {}\n", global_batch_of(request),
                            format_count(request.plan.data.sequence_length), request.plan.cluster.nodes,
                            request.plan.cluster.gpus_per_node, request.plan.cluster.gpu);
    for (const auto& note : result.notes) text += note + "\n";
    if (!result.ranked.empty()) {
        text += layout_table(result.ranked, show, request.price_per_gpu_hour > 0);
        text += "* on the Pareto front of memory, time and GPUs\n" + where_time_goes(result.ranked.front());
        if (request.tokens > 0) {
            const auto budget = budget_of(request, result.ranked.front());
            text += fmt::format("{} tokens: {} steps, {}, {} GPU-hours{}\n", format_short(budget.tokens),
                                format_short(budget.steps), format_seconds(budget.time), format_short(budget.gpu_hours),
                                budget.price > 0 ? fmt::format(", price {}", format_short(budget.price)) : "");
        }
        text += "why not beside the best:\n";
        for (const auto& n : neighbours(request, result.ranked.front()))
            text += fmt::format("  {}: {}\n", n.change, n.reason);
    } else {
        text += fmt::format("no layout: {}\n", result.binding);
        if (!result.relaxations.empty()) text += "what would make one possible, each alone:\n";
        for (const auto& r : result.relaxations)
            text += fmt::format("  {}: {}{}\n", r.words,
                                r.candidate
                                    ? fmt::format("{} a step, {} a rank, {}", format_seconds(r.candidate->step),
                                                  format_bytes(r.candidate->peak), layout_words(r.candidate->layout))
                                    : "",
                                r.settings.empty() ? "" : fmt::format(" ({})", fmt::join(r.settings, " ")));
    }
    for (const auto& r : recommendations(request, result))
        text += fmt::format("{} \"{}\" ({}): {}\n", r.holds ? "holds:" : "differs:", r.rule, r.source, r.why);
    text += fmt::format("{} layouts in {} on {} threads: {} evaluated, {} ruled out by bounds, {} fit\n",
                        format_count(c.layouts), format_seconds(c.seconds), c.threads, format_count(c.evaluated),
                        format_count(c.pruned), format_count(c.fitting));
    return text;
}

}  // namespace plimsoll::cli
