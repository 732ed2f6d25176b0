// SPDX-License-Identifier: Apache-2.0
#include "core/step_time/pipeline_time.h"

#include <algorithm>

namespace plimsoll {

namespace {

/// The time that filling and draining cost each of p equal ranks over a whole step, fitted to simulate() for many times
/// of the mean rank (tests/step_time checks the fit). Where F = B = W the formulas are the papers', plus the shift of
/// the last rank's end, for which every rank waits.
Seconds lost(Schedule kind, double p, double chunks, const RankWork& mean) {
    const Seconds f = mean.forward, b = mean.backward_input, w = mean.backward_weight, all = f + b + w;
    switch (kind) {
        case Schedule::GPipe:
        case Schedule::OneFOneB:
            return (p - 1) * all;
        case Schedule::Interleaved:
        case Schedule::BreadthFirst:
            return (p - 1) * all / chunks;
        case Schedule::ZbH1:
        case Schedule::Zb1p:
            return (p - 1) * std::max({f + b - w, b, f});
        case Schedule::ZbH2:
        case Schedule::Zb2p:
            return (p - 1) * std::max(f + b - 2 * w, f);
        case Schedule::ZbV:
            return (p - 1) * std::max({b / 2, w / 2, b - w});
        case Schedule::VHalf:
            return p * (0.625 * f + 1.25 * b - 0.25 * w) - f;
        case Schedule::VMin:
            return p * (f + b) - 2.5 * b;
        case Schedule::DualPipeV:
            return (p - 1) * std::max(f / 2, b - w / 2);
    }
    return 0;
}

/// The time that a rank waits for each micro-batch in the middle of a step: the building blocks of V-Half and V-Min
/// assume passes of equal times, and stall where the input gradient takes longer. With two ranks, each fills some of
/// the other's gaps.
Seconds stall(Schedule kind, double p, const RankWork& mean) {
    const Seconds f = mean.forward, b = mean.backward_input;
    if (kind == Schedule::VHalf) return p <= 2 ? 0 : std::max(0.0, 2 * b + f / 2 - mean.total());
    if (kind == Schedule::VMin) return std::max(0.0, 3 * std::max(f, b) - mean.total()) / (p <= 2 ? 2 : 1);
    return 0;
}

}  // namespace

PipelineTime pipeline_time(Schedule kind, const std::vector<RankWork>& work, std::int64_t micro_batches,
                           std::int64_t chunks, Seconds send) {
    RankWork sum{0, 0, 0, 0};
    Seconds slowest = 0, forward = 0, backward = 0;
    for (const auto& rank : work) {
        const auto n = static_cast<double>(rank.ranks);
        sum.ranks += rank.ranks;
        sum.forward += n * rank.forward;
        sum.backward_input += n * rank.backward_input;
        sum.backward_weight += n * rank.backward_weight;
        slowest = std::max(slowest, rank.total());
        forward = std::max(forward, rank.forward);
        backward = std::max(backward, rank.total() - rank.forward);
    }
    const auto p = static_cast<double>(sum.ranks), m = static_cast<double>(micro_batches);
    if (sum.ranks <= 1) return {m * slowest, m * slowest, 0};
    const RankWork mean{1, sum.forward / p, sum.backward_input / p, sum.backward_weight / p};

    PipelineTime time;
    time.slowest = m * slowest;
    const Seconds ends = 2 * (p - 1) * send;
    if (kind == Schedule::GPipe) {
        time.makespan = sum.total() + (m - 1) * (forward + backward) + ends;
        time.sends = ends;
        return time;
    }
    if (kind == Schedule::OneFOneB) {
        const Seconds round = mean.total() + 2 * (p - 1) / p * send;
        const Seconds pace = m > 1 ? std::max(slowest, round) : slowest;
        time.makespan = sum.total() + (m - 1) * pace + ends;
        time.sends = ends + (m - 1) * (pace - std::max(slowest, mean.total()));
        return time;
    }
    // The slowest rank's own part of filling and draining is work, not loss.
    const Seconds idle = lost(kind, p, static_cast<double>(std::max<std::int64_t>(chunks, 1)), mean);
    time.makespan = m * (slowest + stall(kind, p, mean)) + std::max(0.0, idle - (slowest - mean.total())) + ends;
    time.sends = ends;
    return time;
}

}  // namespace plimsoll
