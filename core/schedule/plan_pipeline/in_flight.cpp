// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/plan_pipeline/in_flight.h"

#include <algorithm>

#include "core/schedule/check_schedule.h"
#include "core/schedule/generators/make_schedule.h"
#include "core/schedule/plan_pipeline/plan_schedule.h"
#include "core/schedule/plan_pipeline/schedule_file.h"

namespace plimsoll {
namespace {

std::vector<std::int64_t> counted(Schedule kind, std::int64_t ranks, std::int64_t micro_batches, std::int64_t chunks) {
    // Four micro-batches a rank bring every list to its steady state.
    const auto enough = std::min(micro_batches, 4 * ranks);
    const auto schedule =
        make_schedule(kind, {static_cast<int>(ranks), static_cast<int>(enough), static_cast<int>(chunks)});
    std::vector<std::int64_t> peaks(static_cast<std::size_t>(ranks), micro_batches * chunks);
    if (!schedule) return peaks;
    for (std::size_t rank = 0; rank < peaks.size(); ++rank)
        peaks[rank] = peak_in_flight(*schedule, static_cast<int>(rank));
    return peaks;
}

}  // namespace

std::vector<std::int64_t> peaks_in_flight(Schedule kind, std::int64_t ranks, std::int64_t m, std::int64_t chunks) {
    const auto p = std::max<std::int64_t>(ranks, 1);
    if (p == 1) return {1};
    const auto same = [&](std::int64_t count) {
        return std::vector<std::int64_t>(static_cast<std::size_t>(p), std::min(m, count));
    };
    switch (kind) {
        case Schedule::GPipe:
            return same(m);
        case Schedule::BreadthFirst:
            return std::vector<std::int64_t>(static_cast<std::size_t>(p), m * chunks);
        case Schedule::ZbH1:
        case Schedule::Zb1p:
            return same(p);
        case Schedule::ZbH2:
            return same(2 * p - 1);
        case Schedule::Zb2p:
            return same(2 * p);
        case Schedule::OneFOneB: {
            std::vector<std::int64_t> peaks;
            for (std::int64_t rank = 0; rank < p; ++rank) peaks.push_back(std::min(m, p - rank));
            return peaks;
        }
        case Schedule::Interleaved: {
            // The warm-up of interleaved_ops and one more, with its largest round.
            const auto rounds = std::max<std::int64_t>(1, m / p), largest = (m + rounds - 1) / rounds;
            std::vector<std::int64_t> peaks;
            for (std::int64_t rank = 0; rank < p; ++rank) {
                const auto below = p - 1 - rank;
                const auto warmup = chunks > 1 ? (chunks - 1) * largest + 2 * below : below;
                peaks.push_back(std::min(m * chunks, warmup + 1));
            }
            return peaks;
        }
        default:
            return counted(kind, p, m, chunks);
    }
}

Result<std::vector<std::int64_t>> peaks_in_flight(const Plan& plan) {
    const auto& layout = plan.layout;
    if (layout.schedule_file.empty())
        return peaks_in_flight(layout.schedule, layout.pp, layout.accumulation, layout.chunks);
    return plan_schedule(plan).map([](const PipelineSchedule& schedule) {
        std::vector<std::int64_t> peaks;
        for (int rank = 0; rank < schedule.ranks; ++rank) peaks.push_back(peak_in_flight(schedule, rank));
        return peaks;
    });
}

}  // namespace plimsoll
