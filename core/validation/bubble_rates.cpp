// SPDX-License-Identifier: Apache-2.0
#include "core/validation/bubble_rates.h"

#include <cmath>

#include "core/schedule/generators/auto_schedule.h"
#include "core/schedule/generators/make_schedule.h"
#include "core/schedule/simulate.h"

namespace plimsoll {
namespace {

constexpr double usual_weight_share = 32.0 / (34 + 5 * 1024.0 / 96);

std::optional<double> published_rate(const BubbleCase& given, std::string_view column) {
    for (const auto& [name, rate] : given.published)
        if (name == column) return rate;
    return std::nullopt;
}

Result<double> rate_of(const PipelineSchedule& schedule, const BubbleCase& given) {
    const double chunks = schedule.chunks;
    const auto times = StageTimes::uniform(schedule.stages(), given.forward / chunks, given.backward_input / chunks,
                                           given.backward_weight / chunks, given.send);
    PLIMSOLL_TRY(const auto timeline, simulate(schedule, times));
    return timeline.bubble_per_rank;
}

Result<double> rate_of(Schedule kind, const BubbleCase& given, int chunks) {
    PLIMSOLL_TRY(const auto schedule, make_schedule(kind, {given.ranks, given.micro_batches, chunks}));
    return rate_of(schedule, given);
}

Result<BubbleRate> interleaved_rate(const BubbleCase& given) {
    BubbleRate best{"bubble_interleaved_1f1b", 0, published_rate(given, "bubble_interleaved_1f1b"), {}};
    double nearest = INFINITY;
    const int first = given.chunks.value_or(2), last = given.chunks.value_or(best.published ? 4 : 2);
    for (int chunks = first; chunks <= last; ++chunks) {
        PLIMSOLL_TRY(const auto rate, rate_of(Schedule::Interleaved, given, chunks));
        const double off = best.published ? std::abs(rate - *best.published) : 0;
        if (off >= nearest) continue;
        nearest = off;
        best.simulated = rate;
        best.note = fmt::format("{} chunks{}", chunks,
                                given.chunks     ? ""
                                : best.published ? ", the nearest: the file does not say how many"
                                                 : ": the file does not say how many");
    }
    return best;
}

Result<BubbleRate> searched_rate(const BubbleCase& given, double room, AutoSearch search, std::string column) {
    AutoLimits limits;
    limits.micro_batches = room * given.ranks;
    limits.weight_share = given.weight_share.value_or(usual_weight_share);
    limits.search = search;
    limits.goal = AutoGoal::LongestRank;
    const auto times =
        StageTimes::uniform(given.ranks, given.forward, given.backward_input, given.backward_weight, given.send);
    PLIMSOLL_TRY(const auto rate, rate_of(auto_schedule({given.ranks, given.micro_batches}, times, limits), given));
    auto published = published_rate(given, column);
    if (search == AutoSearch::Wide) column += "_search";
    return BubbleRate{std::move(column), rate, published, search == AutoSearch::Wide ? "wide search" : ""};
}

}  // namespace

Result<std::vector<BubbleRate>> bubble_rates(const BubbleCase& given) {
    // Refuses the shape and the times before anything is laid out for them.
    PLIMSOLL_TRY(const auto base, rate_of(Schedule::OneFOneB, given, 1));
    std::vector<BubbleRate> rates{{"bubble_1f1b", base, published_rate(given, "bubble_1f1b"), {}}};

    PLIMSOLL_TRY(auto interleaved, interleaved_rate(given));
    rates.push_back(std::move(interleaved));
    for (const auto& [kind, column] :
         {std::pair{Schedule::ZbH1, "bubble_zb_h1"}, std::pair{Schedule::ZbH2, "bubble_zb_h2"}}) {
        PLIMSOLL_TRY(const auto rate, rate_of(kind, given, 1));
        rates.push_back({column, rate, published_rate(given, column), {}});
    }
    for (const auto search : {AutoSearch::Paper, AutoSearch::Wide})
        for (const auto& [room, column] : {std::pair{1.0, "bubble_zb_1p"}, std::pair{2.0, "bubble_zb_2p"}}) {
            PLIMSOLL_TRY(auto rate, searched_rate(given, room, search, column));
            rates.push_back(std::move(rate));
        }
    return rates;
}

}  // namespace plimsoll
