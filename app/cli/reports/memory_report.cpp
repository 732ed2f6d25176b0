// SPDX-License-Identifier: Apache-2.0
#include "app/cli/reports/memory_report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "app/cli/terminal/terminal.h"
#include "core/schedule/plan_pipeline/plan_pipeline.h"

namespace plimsoll::cli {

namespace {

/// Letter and colour (of the 256-colour palette) of each category in a bar.
constexpr std::array letters{'P', 'G', 'O', 'A', 'B', 'V'};
constexpr std::array category_colours{33, 37, 67, 214, 109, 245};

std::string name_of(const RankMemory& stage) {
    return fmt::format("{} ({}, {} of the model)", stage.label,
                       stage.ranks == 1 ? "1 rank" : fmt::format("{} ranks", format_count(stage.ranks)),
                       stage.layers == 1 ? "1 layer" : fmt::format("{} layers", stage.layers));
}

/// One cell stands for the same bytes in every bar; '|' is the usable memory.
std::string bar(const RankMemory& stage, Bytes usable, Bytes full, std::size_t width) {
    const double scale = static_cast<double>(width) / static_cast<double>(std::max<Bytes>(full, 1));
    const auto mark = std::min(width - 1, static_cast<std::size_t>(static_cast<double>(usable) * scale));
    std::string cells;
    double sum = 0;
    std::size_t at = 0;
    for (std::size_t category = 0; category < letters.size(); ++category) {
        sum += static_cast<double>(stage.of(static_cast<Category>(category)));
        const auto end = std::min(width, static_cast<std::size_t>(std::lround(sum * scale)));
        for (; at < end; ++at) {
            if (at == mark)
                cells += coloured("|", 196);
            else
                cells += has_colours() ? coloured("█", category_colours[category]) : std::string(1, letters[category]);
        }
    }
    for (; at < width; ++at) cells += at == mark ? coloured("|", 196) : std::string(" ");
    return cells;
}

std::size_t term_width(const RankMemory& stage) {
    std::size_t width = shown_width("in all");
    for (const Term& term : stage.terms) width = std::max(width, shown_width(term.name));
    return std::min<std::size_t>(width, 34);
}

/// The formula stands beside the bytes, or in a narrow terminal below them.
std::string memory_table(const RankMemory& stage, std::size_t width, bool sources) {
    constexpr std::size_t least_room = 26, below = 6;
    std::string out;
    for (const Term& term : stage.terms) {
        const auto category = static_cast<std::size_t>(term.category);
        const std::string mark =
            coloured(has_colours() ? "█" : std::string(1, letters[category]), category_colours[category]);
        const std::string head = fmt::format("  {} {} {}", mark, fitted(term.name, term_width(stage)),
                                             fitted(format_bytes(term.bytes), 10, true));
        const std::size_t beside = shown_width(head) + 2;
        const bool narrow = beside + least_room > width;
        const std::size_t indent = narrow ? below : beside;
        std::string formula = wrapped(term.formula, std::max(width, indent + least_room) - indent, 0);
        for (std::size_t at = 0; (at = formula.find('\n', at)) != std::string::npos; at += indent) {
            formula.insert(++at, std::string(indent, ' '));
        }
        out += head;
        if (narrow) out += '\n';
        out.append(narrow ? below : 2, ' ');
        out += formula;
        out += '\n';
        if (sources) out += std::string(6, ' ') + wrapped(term.source, width - 6, 6) + "\n";
    }
    return out;
}

std::string memory_verdict(const MemoryEstimate& estimate) {
    const RankMemory& fullest = estimate.fullest();
    const std::string where = estimate.stages.size() > 1 ? fmt::format(" on {}", fullest.label) : "";
    if (estimate.fits()) {
        return coloured(
            fmt::format("Fits: {} of {}{}", format_bytes(fullest.total()), format_bytes(estimate.usable), where), 35);
    }
    const Term* largest = nullptr;
    for (const Term& term : fullest.terms) {
        if (largest == nullptr || term.bytes > largest->bytes) largest = &term;
    }
    return coloured(
        fmt::format("Does not fit: {} of {}{}, over by {}; the largest part is {} ({})", format_bytes(fullest.total()),
                    format_bytes(estimate.usable), where, format_bytes(fullest.total() - estimate.usable),
                    largest->name, format_bytes(largest->bytes)),
        196);
}

/// What the total is made of by the figures that PyTorch reports.
std::string kinds_of_bytes(const RankMemory& fullest) {
    return fmt::format(
        "Live tensors {} (what max_memory_allocated reports), {} with the blocks that the allocator is expected to hold "
        "for them (max_memory_reserved), the rest CUDA and NCCL. What is reserved decides: plimsoll dry-run counts it "
        "allocation by allocation, from the start of the run.",
        format_bytes(fullest.live()), format_bytes(fullest.reserved()));
}

std::string notes_text(const MemoryEstimate& estimate, std::size_t width) {
    std::string out = fmt::format("\n{}\n", bold("Where this is not the plan to the letter"));
    for (const std::string& note : estimate.notes) out += "  " + wrapped(note, width - 2, 2) + "\n";
    return out;
}

bool alike(const RankMemory& a, const RankMemory& b) {
    return a.layers == b.layers && a.terms.size() == b.terms.size() &&
           std::equal(a.terms.begin(), a.terms.end(), b.terms.begin(),
                      [](const Term& x, const Term& y) { return x.key == y.key && x.bytes == y.bytes; });
}

}  // namespace

std::string layout_line(const Plan& plan) {
    const Layout& layout = plan.layout;
    std::vector<std::string> parts{fmt::format("dp {}", layout.dp)};
    const auto add = [&](const char* name, std::int64_t ranks) {
        if (ranks > 1) parts.push_back(fmt::format("{} {}", name, ranks));
    };
    add("tp", layout.tp);
    add("pp", layout.pp);
    add("cp", layout.cp);
    add("ep", layout.ep);
    if (layout.sequence_parallel) parts.emplace_back("sequence parallel");
    if (layout.zero_stage > 0) parts.push_back(fmt::format("ZeRO-{}", layout.zero_stage));
    parts.push_back(fmt::format("micro-batch {} x {} accumulated", layout.micro_batch, layout.accumulation));
    parts.push_back(precision_words(plan.numerics));
    parts.push_back(fmt::format("recompute {}", name_of(layout.recompute)));
    parts.push_back(fmt::format("global batch {} x {} tokens", format_count(layout.global_batch()),
                                format_count(plan.data.sequence_length)));
    return fmt::format("{}", fmt::join(parts, " · "));
}

std::string memory_report(const MemoryEstimate& estimate, const Plan& plan, bool sources) {
    const auto width = static_cast<std::size_t>(std::max(terminal_size().columns, 40));
    const std::string model = plan.model.name.empty() ? plan.model.preset : plan.model.name;
    std::string out = bold(fmt::format("{}: {} parameters ({})\n", model, format_count(estimate.parameters),
                                       format_short(static_cast<double>(estimate.parameters))));
    const std::string hardware =
        plan.cluster.on_cpu() ? fmt::format("{} ranks on this machine's processors", plan.cluster.world_size())
                              : fmt::format("{} x {}", format_count(plan.cluster.world_size()), plan.cluster.gpu);
    out += fmt::format("{}, {} usable by each\n{}\n", hardware, format_bytes(estimate.usable),
                       wrapped(layout_line(plan), width, 0));

    Bytes full = estimate.usable;
    for (const RankMemory& stage : estimate.stages) full = std::max(full, stage.total());
    for (std::size_t i = 0; i < estimate.stages.size(); ++i) {
        const RankMemory& stage = estimate.stages[i];
        std::size_t last = i;
        while (last + 1 < estimate.stages.size() && alike(stage, estimate.stages[last + 1])) ++last;
        const std::string name =
            last == i ? name_of(stage) : fmt::format("Stages {} to {}, each: {}", i, last, name_of(stage));
        out += fmt::format("\n{}\n{}", bold(name), memory_table(stage, width, sources));
        out += fmt::format("    {} {}\n", fitted("in all", term_width(stage)),
                           fitted(format_bytes(stage.total()), 10, true));
        out += "  " + bar(stage, estimate.usable, full, width - 4) + "\n";
        i = last;
    }
    out += fmt::format("\n{}\n", memory_verdict(estimate));
    if (!plan.cluster.on_cpu()) out += wrapped(kinds_of_bytes(estimate.fullest()), width, 0) + "\n";
    if (estimate.host > 0) out += fmt::format("Host memory a rank: {}\n", format_bytes(estimate.host));
    if (plan.layout.pp > 1)
        if (const auto pipeline = simulate_pipeline(plan))
            out += fmt::format("Pipeline bubble: {:.1f} % of the time ({}, p = {}, m = {})\n",
                               100 * pipeline->timeline.bubble, pipeline_title(*pipeline), plan.layout.pp,
                               plan.layout.accumulation);
    if (!estimate.notes.empty()) out += notes_text(estimate, width);
    if (!estimate.rules.empty()) out += "\n" + bold("Rules of thumb, beside the exact figures") + "\n";
    for (const RuleOfThumb& rule : estimate.rules) {
        out += fmt::format("  {}: {} (exact: {})\n", rule.name, format_bytes_decimal(rule.rule),
                           format_bytes_decimal(rule.exact));
        out += "    " + wrapped(rule.formula, width - 4, 4) + "\n    " + wrapped(rule.note, width - 4, 4) + "\n";
    }
    return out;
}

}  // namespace plimsoll::cli
