// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/generators/auto_schedule.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

namespace plimsoll {
namespace {

constexpr Seconds not_done = -1;
constexpr Seconds impossible = std::numeric_limits<Seconds>::infinity();

constexpr double paper_wait = -1;

/// What the search varies.
struct Choice {
    std::vector<int> warmup;         ///< per rank: forwards before the first backward
    bool backward_first = false;     ///< take a gradient that is here before a forward that is not
    double room = 0;                 ///< micro-batches; at most the limit
    double least_wait = paper_wait;  ///< in weight backwards: a shorter wait is not filled with one
};

/// Lays out one schedule and tells how long its longest rank takes.
class Filling {
public:
    Filling(const ScheduleShape& shape, const StageTimes& times, const AutoLimits& limits)
        : times_(times),
          ranks_(static_cast<std::size_t>(shape.ranks)),
          micro_batches_(shape.micro_batches),
          limits_(limits),
          state_(ranks_),
          forward_(ranks_ * static_cast<std::size_t>(micro_batches_)),
          gradient_(forward_.size()),
          tie_(1e-9 * (times.forward[0] + times.backward_input[0] + times.backward_weight[0])) {}

    /// `ops` is filled when it is given.
    Seconds run(const Choice& choice, std::vector<std::vector<PipelineOp>>* ops = nullptr) {
        ops_ = ops;
        most_idle_ = 0;
        if (ops_) ops_->assign(ranks_, {});
        std::fill(forward_.begin(), forward_.end(), not_done);
        std::fill(gradient_.begin(), gradient_.end(), not_done);
        std::fill(state_.begin(), state_.end(), State{});
        to_try_.resize(ranks_);
        std::iota(to_try_.rbegin(), to_try_.rend(), std::size_t{0});
        while (!to_try_.empty()) {
            const auto rank = to_try_.back();
            to_try_.pop_back();
            while (step(rank, choice)) {
            }
        }
        Seconds longest = 0;
        for (std::size_t rank = 0; rank < ranks_; ++rank) {
            auto& s = state_[rank];
            if (s.backwards < micro_batches_) return impossible;
            while (s.weights < s.backwards) take_weight(rank);
            longest = std::max(longest, limits_.goal == AutoGoal::WholeStep ? s.clock : s.clock - s.start);
        }
        return longest;
    }

private:
    struct State {
        int forwards = 0, backwards = 0, weights = 0;
        bool forward_next = false;  ///< after the warm-up
        Seconds start = 0, clock = 0, idle = 0;
    };

    std::size_t at(std::size_t rank, int micro_batch) const {
        return rank * static_cast<std::size_t>(micro_batches_) + static_cast<std::size_t>(micro_batch);
    }
    Seconds send(std::size_t link) const { return times_.send.empty() ? 0 : times_.send[link]; }

    double memory(const State& s) const {
        return s.forwards - s.backwards + (s.backwards - s.weights) * limits_.weight_share;
    }

    /// Whether the next forward is still on its way while the next gradient has arrived.
    bool backward_is_here(std::size_t rank, const State& s) const {
        if (rank == 0 || rank + 1 >= ranks_ || s.backwards >= s.forwards) return false;
        const auto input = forward_[at(rank - 1, s.forwards)], gradient = gradient_[at(rank + 1, s.backwards)];
        if (gradient == not_done || gradient + send(rank) > s.clock + tie_) return false;
        return input == not_done || input + send(rank - 1) > s.clock + tie_;
    }

    // The paper: a wait that is shorter than a weight backward is filled too where it would make this rank the one that
    // waits most.
    bool worth_a_weight(std::size_t rank, Seconds wait, const Choice& choice) const {
        if (choice.least_wait != paper_wait) return wait >= choice.least_wait * times_.backward_weight[rank] - tie_;
        return wait >= times_.backward_weight[rank] - tie_ || state_[rank].idle + wait > most_idle_ + tie_;
    }

    void note(std::size_t rank, OpKind kind, int micro_batch) {
        if (ops_) (*ops_)[rank].push_back({kind, micro_batch});
    }

    void take_weight(std::size_t rank) {
        auto& s = state_[rank];
        note(rank, OpKind::BackwardWeight, s.weights++);
        s.clock += times_.backward_weight[rank];
    }

    bool step(std::size_t rank, const Choice& choice) {
        auto& s = state_[rank];
        if (s.backwards == micro_batches_) return false;
        const bool warm = s.backwards == 0 && s.forwards < std::min(choice.warmup[rank], micro_batches_);
        bool forward = s.forwards < micro_batches_ && (warm || s.forward_next);
        if (forward && !warm && choice.backward_first && backward_is_here(rank, s)) forward = false;
        Seconds ready = 0;
        if (forward && rank > 0) {
            const auto input = forward_[at(rank - 1, s.forwards)];
            if (input == not_done) return false;
            ready = input + send(rank - 1);
        } else if (!forward) {
            if (s.backwards >= s.forwards) return false;
            if (rank + 1 < ranks_) {
                const auto gradient = gradient_[at(rank + 1, s.backwards)];
                if (gradient == not_done) return false;
                ready = gradient + send(rank);
            }
        }
        const bool waiting = s.weights < s.backwards;
        const bool full = forward && memory(s) + 1 > choice.room + 1e-9;
        if (full && !waiting) {
            // Nothing to give back: take the backward first.
            if (s.forwards == s.backwards) return false;
            s.forward_next = false;
            return !warm;
        }
        const auto wait = ready - s.clock;
        if (waiting && (full || (wait > tie_ && worth_a_weight(rank, wait, choice)))) {
            take_weight(rank);
            return true;
        }
        const auto start = std::max(s.clock, ready);
        if (s.forwards == 0)
            s.start = start;
        else
            s.idle += std::max(0.0, wait);
        most_idle_ = std::max(most_idle_, s.idle);
        s.clock = start + (forward ? times_.forward[rank] : times_.backward_input[rank]);
        if (forward) {
            note(rank, OpKind::Forward, s.forwards);
            forward_[at(rank, s.forwards++)] = s.clock;
            s.forward_next = false;
            if (rank + 1 < ranks_) to_try_.push_back(rank + 1);
        } else {
            note(rank, OpKind::BackwardInput, s.backwards);
            gradient_[at(rank, s.backwards++)] = s.clock;
            s.forward_next = true;
            if (rank > 0) to_try_.push_back(rank - 1);
        }
        return true;
    }

    const StageTimes& times_;
    std::size_t ranks_;
    int micro_batches_;
    AutoLimits limits_;
    std::vector<State> state_;
    std::vector<Seconds> forward_, gradient_;
    std::vector<std::size_t> to_try_;
    Seconds most_idle_ = 0;
    Seconds tie_ = 0;  ///< times that are nearer than this are the same but for rounding
    std::vector<std::vector<PipelineOp>>* ops_ = nullptr;
};

/// First forwards that fill the time until the first gradient can be back, `rounding` of one more taken for the rest.
std::vector<int> filling_warmup(const StageTimes& times, int ranks, int limit, double rounding) {
    std::vector<int> warmup(static_cast<std::size_t>(ranks), 1);
    Seconds away = 0;  // from the end of a rank's first forward to its first gradient
    for (int rank = ranks - 2; rank >= 0; --rank) {
        const auto r = static_cast<std::size_t>(rank);
        away += times.forward[r + 1] + times.backward_input[r + 1] + (times.send.empty() ? 0 : 2 * times.send[r]);
        const double more = times.forward[r] > 0 ? away / times.forward[r] : limit;
        warmup[r] = static_cast<int>(std::clamp(1 + std::floor(more + rounding), 1.0, static_cast<double>(limit)));
    }
    return warmup;
}

std::vector<Choice> first_choices(const StageTimes& times, int ranks, int limit, const AutoLimits& limits) {
    std::vector<int> h1, h2;
    for (int rank = 0; rank < ranks; ++rank) {
        h1.push_back(std::min(limit, ranks - rank));
        h2.push_back(std::min(limit, 2 * (ranks - rank) - 1));
    }
    std::vector<std::vector<int>> warmups{filling_warmup(times, ranks, limit, 0), h1};
    constexpr std::array waits{paper_wait, 1.0, 0.75, 0.5, 0.25, 0.0};
    std::vector<double> rooms{limits.micro_batches};
    if (limits.search == AutoSearch::Wide) {
        for (const double rounding : {0.3, 0.6, 0.9, 1.0})
            warmups.push_back(filling_warmup(times, ranks, limit, rounding));
        warmups.push_back(h2);
        // Less room brings weight backwards forward, which can be the better order.
        if (limits.micro_batches > ranks) rooms.push_back(ranks);
    }
    // The likeliest first: the budget may end the search.
    std::vector<Choice> choices;
    for (const double least_wait : waits)
        for (const auto& warmup : warmups)
            for (const double room : rooms)
                for (const bool first : {false, true}) {
                    auto fitting = warmup;
                    for (auto& count : fitting) count = std::min(count, std::max(1, static_cast<int>(room)));
                    choices.push_back({std::move(fitting), first, room, least_wait});
                }
    return choices;
}

}  // namespace

PipelineSchedule auto_schedule(const ScheduleShape& shape, const StageTimes& given, const AutoLimits& limits) {
    const auto times = given.forward.empty() ? StageTimes::uniform(shape.ranks, 1, 1, 1) : given;
    auto usable = limits;
    usable.micro_batches = std::max(1.0, limits.micro_batches);
    Filling filling(shape, times, usable);
    const auto ops_each = 3 * static_cast<std::int64_t>(shape.ranks) * shape.micro_batches;
    const int limit = static_cast<int>(std::min(usable.micro_batches, static_cast<double>(shape.micro_batches)));

    Choice best;
    Seconds shortest = impossible;
    std::int64_t left = limits.tried_ops;
    const auto try_choice = [&](const Choice& choice) {
        left -= ops_each;
        const auto length = filling.run(choice);
        if (length >= shortest * (1 - 1e-12) && !best.warmup.empty()) return false;
        shortest = length;
        best = choice;
        return true;
    };
    for (const auto& choice : first_choices(times, shape.ranks, limit, usable))
        if (left > 0 || shortest == impossible) try_choice(choice);

    // Then one forward more or less on one rank at a time, as long as that helps.
    for (bool better = limits.search == AutoSearch::Wide; better && left > 0;) {
        better = false;
        for (int rank = 0; rank < shape.ranks && left > 0; ++rank)
            for (const int change : {1, -1}) {
                auto choice = best;
                auto& warmup = choice.warmup[static_cast<std::size_t>(rank)];
                warmup = std::clamp(warmup + change, 1, std::min(limit, std::max(1, static_cast<int>(choice.room))));
                if (warmup != best.warmup[static_cast<std::size_t>(rank)]) better |= try_choice(choice);
            }
    }
    PipelineSchedule schedule{shape.ranks, shape.micro_batches, 1, Placement::Loop, {}};
    filling.run(best, &schedule.ops);
    return schedule;
}

}  // namespace plimsoll
