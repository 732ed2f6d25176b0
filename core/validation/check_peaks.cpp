// SPDX-License-Identifier: Apache-2.0
#include "core/validation/check_peaks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace plimsoll {
namespace {

Bytes predicted(const PeakRow& row, const Workload& work) {
    Bytes most = 0;
    for (const auto& stage : stage_shares(work)) {
        if (row.scope == RankScope::Last && !stage.last) continue;
        auto rank = rank_memory_under(row.framework, work, stage);
        for (auto& term : rank.terms)
            if (row.context > 0 && term.key == "cuda_context") term.bytes = row.context;
        most = std::max(most, peak_by(row.metric, rank));
    }
    return most;
}

double error_of(const PeakRow& row, const Workload& work) {
    return static_cast<double>(predicted(row, work)) / static_cast<double>(row.truth) - 1;
}

/// What a row may not say and would explain an error. Only told, never used.
struct Guess {
    const char* words;
    bool (*open)(const PeakRow&);
    void (*change)(Workload&);
};

bool attention_is_open(const PeakRow& row) { return row.unsaid == "attention"; }
bool is_megatron(const PeakRow& row) { return row.framework == Framework::Megatron; }
bool has_logits(const PeakRow& row) { return !row.work.bert; }

constexpr std::array guesses{
    Guess{"eager attention, which the row does not say", attention_is_open,
          [](Workload& w) { w.numerics.attention = Attention::Eager; }},
    Guess{"flash attention, which the row does not say", attention_is_open,
          [](Workload& w) { w.numerics.attention = Attention::Flash; }},
    Guess{"no dropout, which the row does not say", is_megatron, [](Workload& w) { w.model.dropout = 0; }},
    Guess{"dropout, which the row does not say", is_megatron, [](Workload& w) { w.model.dropout = 0.1; }},
    Guess{"twice as many data-parallel ranks, which the row does not say", is_megatron,
          [](Workload& w) { w.layout.dp *= 2; }},
    Guess{"half as many data-parallel ranks, which the row does not say", is_megatron,
          [](Workload& w) { w.layout.dp = std::max<std::int64_t>(w.layout.dp / 2, 1); }},
    Guess{"full recomputation, which the row does not say",
          [](const PeakRow& row) { return row.unsaid == "recomputation"; },
          [](Workload& w) { w.layout.recompute = Recompute::Full; }},
    Guess{"a loss on fp32 copies of all logits, which the row does not say", has_logits,
          [](Workload& w) { w.loss = LossKind::Materialised; }},
    Guess{"a fused loss, which the row does not say", has_logits, [](Workload& w) { w.loss = LossKind::Fused; }},
};

std::string cause_of(const PeakRow& row, double error) {
    if (std::abs(error) <= 0.05) return "";
    std::string best;
    double least = std::min(0.05, std::abs(error) / 2);
    for (const auto& guess : guesses) {
        if (!guess.open(row)) continue;
        auto other = row.work;
        guess.change(other);
        const double left = error_of(row, other);
        if (std::abs(left) >= least) continue;
        least = std::abs(left);
        best = fmt::format("{:+.1f} % with {}", 100 * left, guess.words);
    }
    if (!best.empty()) return best;
    if (!row.unsaid.empty() && row.unsaid != "attention") return fmt::format("the row does not say {}", row.unsaid);
    if (row.work.fp8) return "8-bit weights and products are counted as 16-bit";
    if (row.work.model.moe()) return "tokens are not routed evenly, and the dispatcher's buffers are not counted";
    return "not found";
}

double share_of(std::size_t part, std::size_t whole) {
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

std::vector<PeakCheck> check_peaks(const std::vector<PeakRow>& rows) {
    std::vector<PeakCheck> checks;
    for (const auto& row : rows) {
        PeakCheck check;
        check.row = row;
        if (row.unknown.empty()) {
            check.predicted = predicted(row, row.work);
            check.error = static_cast<double>(*check.predicted) / static_cast<double>(row.truth) - 1;
            check.interval = interval_of(row.framework, *check.predicted, true);
            // What the row does not say may be either way: the interval has both.
            if (row.unsaid == "attention" || row.unsaid == "recomputation") {
                auto other = row.work;
                if (row.unsaid == "attention")
                    other.numerics.attention =
                        other.numerics.attention == Attention::Eager ? Attention::Flash : Attention::Eager;
                if (row.unsaid == "recomputation") other.layout.recompute = Recompute::Full;
                const auto further = interval_of(row.framework, predicted(row, other), true);
                check.interval = {std::min(check.interval.low, further.low),
                                  std::max(check.interval.high, further.high)};
            }
            check.cause = cause_of(row, check.error);
        } else {
            check.cause = row.unknown;
        }
        checks.push_back(std::move(check));
    }
    return checks;
}

PeakSummary summarize(const std::vector<PeakCheck>& checks) {
    PeakSummary summary;
    std::vector<double> errors;
    std::size_t inside = 0, near = 0;
    for (const auto& check : checks) {
        if (!check.predicted) continue;
        errors.push_back(std::abs(check.error));
        near += errors.back() <= 0.1 ? 1 : 0;
        inside += check.interval.low <= check.row.truth && check.row.truth <= check.interval.high ? 1 : 0;
        const bool fits = check.row.capacity > 0 && check.interval.high <= check.row.capacity;
        summary.over += fits && check.row.truth > check.row.capacity ? 1 : 0;
    }
    summary.rows = checks.size();
    summary.estimated = errors.size();
    if (errors.empty()) return summary;
    std::sort(errors.begin(), errors.end());
    for (const double error : errors) summary.mean_error += error;
    summary.mean_error /= static_cast<double>(errors.size());
    summary.median_error = errors[errors.size() / 2];
    summary.within_10 = share_of(near, summary.rows);
    summary.inside = share_of(inside, summary.estimated);
    return summary;
}

ErrorQuantiles error_quantiles(const std::vector<PeakCheck>& checks, Framework framework) {
    std::vector<double> ratios;
    for (const auto& check : checks)
        if (check.predicted && check.row.framework == framework && check.row.unsaid.empty())
            ratios.push_back(1 / (1 + check.error));
    std::sort(ratios.begin(), ratios.end());
    ErrorQuantiles quantiles{ratios.size(), {}};
    if (ratios.empty()) return quantiles;
    for (const double p : {0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975}) {
        const double at = p * static_cast<double>(ratios.size() - 1);
        const auto low = static_cast<std::size_t>(at);
        const auto high = std::min(low + 1, ratios.size() - 1);
        quantiles.ratios.push_back(ratios[low] + (at - static_cast<double>(low)) * (ratios[high] - ratios[low]));
    }
    return quantiles;
}

}  // namespace plimsoll
