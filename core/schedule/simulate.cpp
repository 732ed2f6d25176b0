// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/simulate.h"

#include <algorithm>
#include <array>

#include "core/schedule/check_schedule.h"
#include "core/schedule/stage_times.h"
#include "core/schedule/timeline_sums.h"
#include "core/schedule/traverse.h"

namespace plimsoll {
namespace {

constexpr Seconds not_done = -1;

class Simulation {
public:
    Simulation(const PipelineSchedule& schedule, const StageTimes& times)
        : schedule_(schedule),
          times_(times),
          table_(schedule),
          forward_(table_.at(schedule.stages(), 0), not_done),
          gradient_(forward_.size(), not_done),
          clock_(static_cast<std::size_t>(schedule.ranks)) {
        ranks_.resize(clock_.size());
        for (std::size_t r = 0; r < clock_.size(); ++r) ranks_[r].reserve(schedule.ops[r].size());
        const auto full_backward = [&](std::size_t s) { return times.backward_input[s] + times.backward_weight[s]; };
        for (std::size_t s = 0; s < times.forward.size(); ++s)
            durations_.push_back(
                {times.forward[s], full_backward(s), times.backward_input[s], times.backward_weight[s]});
    }

    Timeline run() {
        Seconds earliest = 0;  // when the op's input is ready, set by ready() and used by visit()
        traverse(
            schedule_, [&](int rank, int stage, const PipelineOp& op) { return ready(rank, stage, op, earliest); },
            [&](int rank, int stage, const PipelineOp& op) { take(rank, stage, op, earliest); });
        return summed_timeline(std::move(ranks_));
    }

private:
    Seconds send(int rank, int stage, int other) const {
        if (times_.send.empty() || schedule_.rank_of(other) == rank) return 0;
        return times_.send[static_cast<std::size_t>(std::min(stage, other))];
    }

    bool ready(int rank, int stage, const PipelineOp& op, Seconds& earliest) const {
        earliest = 0;
        if (op.kind == OpKind::BackwardWeight) return gradient_[table_.at(stage, op.micro_batch)] != not_done;
        if (op.kind == OpKind::Forward) {
            if (stage == 0) return true;
            const auto input = forward_[table_.at(stage - 1, op.micro_batch)];
            earliest = input + send(rank, stage, stage - 1);
            return input != not_done;
        }
        if (forward_[table_.at(stage, op.micro_batch)] == not_done) return false;
        if (stage + 1 == schedule_.stages()) return true;
        const auto gradient = gradient_[table_.at(stage + 1, op.micro_batch)];
        earliest = gradient + send(rank, stage, stage + 1);
        return gradient != not_done;
    }

    void take(int rank, int stage, const PipelineOp& op, Seconds earliest) {
        auto& clock = clock_[static_cast<std::size_t>(rank)];
        const auto start = std::max(clock, earliest);
        clock = start + durations_[static_cast<std::size_t>(stage)][static_cast<std::size_t>(op.kind)];
        ranks_[static_cast<std::size_t>(rank)].push_back({op, rank, start, clock});
        if (op.kind == OpKind::Forward) forward_[table_.at(stage, op.micro_batch)] = clock;
        if (sends_gradient(op.kind)) gradient_[table_.at(stage, op.micro_batch)] = clock;
    }

    const PipelineSchedule& schedule_;
    const StageTimes& times_;
    OpTable table_;
    std::vector<Seconds> forward_, gradient_;  ///< end of each stage's op of each micro-batch, or not_done
    std::vector<Seconds> clock_;               ///< per rank
    std::vector<std::array<Seconds, 4>> durations_;
    std::vector<std::vector<TimedOp>> ranks_;
};

}  // namespace

Timeline summed_timeline(std::vector<std::vector<TimedOp>> ranks) {
    Timeline timeline;
    timeline.ranks = std::move(ranks);
    for (const auto& ops : timeline.ranks)
        if (!ops.empty()) timeline.makespan = std::max(timeline.makespan, ops.back().end);
    Seconds all_busy = 0;
    for (const auto& ops : timeline.ranks) {
        Seconds busy = 0;
        for (const auto& timed : ops) busy += timed.end - timed.start;
        timeline.busy.push_back(busy);
        timeline.idle.push_back(std::max(0.0, timeline.makespan - busy));
        if (!ops.empty()) timeline.longest_rank = std::max(timeline.longest_rank, ops.back().end - ops.front().start);
        all_busy += busy;
    }
    const auto lost = [&](Seconds span) {
        return span > 0 ? std::max(0.0, 1 - all_busy / (span * static_cast<double>(timeline.ranks.size()))) : 0.0;
    };
    timeline.bubble = lost(timeline.makespan);
    timeline.bubble_per_rank = lost(timeline.longest_rank);
    return timeline;
}

Result<Timeline> simulate(const PipelineSchedule& schedule, const StageTimes& times) {
    PLIMSOLL_CHECK(check_schedule(schedule));
    PLIMSOLL_CHECK(check_times(times, schedule.stages()));
    return Simulation(schedule, times).run();
}

}  // namespace plimsoll
