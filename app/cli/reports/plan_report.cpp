// SPDX-License-Identifier: Apache-2.0
#include "app/cli/reports/plan_report.h"

#include <algorithm>

#include "core/frameworks/framework.h"
#include "core/plan/machine.h"
#include "core/planner/fit_limit.h"
#include "core/planner/layout_text.h"
#include "core/planner/neighbours.h"
#include "core/planner/recommendations.h"
#include "core/planner/space.h"

namespace plimsoll::cli {

namespace {

/// "0.7 %", "<0.1 %".
std::string risk_text(double probability) {
    return probability < 0.001 ? "<0.1 %" : fmt::format("{:.1f} %", 100 * probability);
}

std::string layout_table(const std::vector<Candidate>& candidates, std::size_t show, bool price) {
    const bool host = std::any_of(candidates.begin(), candidates.end(), [](const Candidate& c) { return c.host > 0; });
    auto text = fmt::format("{:>4} {:>6} {:>10} {:>10} {:>6} {:>7} {:>10} {:>7}{}{}  {}\n", "", "GPUs", "step",
                            "tokens/s", "MFU", "bubble", "per rank", "OOM", host ? fmt::format(" {:>10}", "host") : "",
                            price ? fmt::format(" {:>10}", "price/Mtok") : "", "layout");
    for (std::size_t i = 0; i < std::min(show, candidates.size()); ++i) {
        const auto& c = candidates[i];
        text += fmt::format("{:>4} {:>6} {:>10} {:>10} {:>5.1f}% {:>6.1f}% {:>10} {:>7}{}{}  {}{}\n", i + 1, c.gpus(),
                            format_seconds(c.step), format_short(c.tokens_per_second), 100 * c.mfu,
                            c.step > 0 ? 100 * c.time.of(TimePart::Bubble) / c.step : 0, format_bytes(c.peak),
                            risk_text(c.out_of_memory),
                            host ? fmt::format(" {:>10}", c.host > 0 ? format_bytes(host_of_machine(c)) : "") : "",
                            price ? fmt::format(" {:>10.4f}", c.price_per_million_tokens) : "", layout_words(c.layout),
                            c.on_front ? " *" : "");
    }
    return text;
}

/// What the columns mean: how much a rank may take, and whose memory it is.
std::string limits_text(const PlanRequest& request, const Candidate& best) {
    const auto usable = usable_bytes(best.cluster).value_or(0);
    auto text = fmt::format("a rank: peak of {} usable, estimated under {}", format_bytes(usable),
                            profile_of(request.framework).title);
    if (request.fit_probability > 0)
        text += fmt::format("; up to {} fits with {:g} %", format_bytes(fit_limit(request, best.cluster, usable)),
                            100 * request.fit_probability);
    if (request.headroom > 0) text += fmt::format(" and {:.0f} % free", 100 * request.headroom);
    text += "\nOOM: chance to run out of memory; host: RAM of a machine for what is offloaded";
    if (request.host_memory > 0) text += fmt::format(", of {}", format_bytes(request.host_memory));
    return text + "\n";
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
        text += "* on the Pareto front of memory, time and GPUs\n" + limits_text(request, result.ranked.front());
        text += where_time_goes(result.ranked.front());
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
        text += result.relaxations.empty() ? "no layout fits, and no change of one limit helps\n"
                                           : "no layout fits; what would make one possible, each alone:\n";
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
    text += fmt::format("{} layouts in {} on {}: {} evaluated, {} ruled out by bounds\n", format_count(c.layouts),
                        format_seconds(c.seconds), c.threads == 1 ? "1 thread" : fmt::format("{} threads", c.threads),
                        format_count(c.evaluated), format_count(c.pruned));
    return text;
}

}  // namespace plimsoll::cli
