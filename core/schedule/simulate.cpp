// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "core/schedule/schedule.h"

namespace plimsoll {
namespace {

constexpr Seconds not_done = std::numeric_limits<Seconds>::infinity();

std::string described(const PipelineOp& op) {
    const auto* kind = op.kind == OpKind::Forward ? "forward" : "backward";
    const auto chunk = op.chunk > 0 ? fmt::format(" (chunk {})", op.chunk) : std::string();
    return fmt::format("{} of micro-batch {}{}", kind, op.micro_batch, chunk);
}

/// Places of ops in a table: the model is a chain of chunks x stages links, chunk c of stage s being link c x p + s.
struct Grid {
    int stages, micro_batches, chunks;

    int links() const { return stages * chunks; }
    int link(int stage, const PipelineOp& op) const { return op.chunk * stages + stage; }
    std::size_t size() const { return 2 * static_cast<std::size_t>(links()) * static_cast<std::size_t>(micro_batches); }
    std::size_t index(OpKind kind, int link, int micro_batch) const {
        const auto row = static_cast<std::size_t>(kind == OpKind::Backward ? links() + link : link);
        return row * static_cast<std::size_t>(micro_batches) + static_cast<std::size_t>(micro_batch);
    }
};

Result<Grid> checked_grid(const PipelineSchedule& schedule) {
    const auto stages = schedule.stages, micro_batches = schedule.micro_batches;
    if (stages < 1 || micro_batches < 1)
        return bad_input("a schedule needs at least one stage and one micro-batch, not {} and {}", stages,
                         micro_batches);
    if (schedule.ops.size() != static_cast<std::size_t>(stages))
        return bad_input("the schedule has {} stages but {} lists of operations; give one list a stage", stages,
                         schedule.ops.size());

    std::int64_t listed = 0;
    int chunks = 1;
    for (int stage = 0; stage < stages; ++stage)
        for (const auto& op : schedule.ops[static_cast<std::size_t>(stage)]) {
            ++listed;
            if (op.micro_batch < 0 || op.micro_batch >= micro_batches || op.chunk < 0)
                return bad_input("stage {} lists the {}, but micro-batches run from 0 to {}", stage, described(op),
                                 micro_batches - 1);
            chunks = std::max(chunks, op.chunk == std::numeric_limits<int>::max() ? op.chunk : op.chunk + 1);
        }
    // Each op is listed once, so a complete schedule lists 2 x stages x micro-batches x chunks of them; checked before
    // the table of that size is made.
    const auto needed = 2.0 * stages * micro_batches * chunks;
    if (needed > static_cast<double>(max_schedule_ops))
        return bad_input("the schedule would have {:.0f} operations, more than the {} that can be simulated", needed,
                         max_schedule_ops);

    const Grid grid{stages, micro_batches, chunks};
    std::vector<bool> seen(grid.size());
    for (int stage = 0; stage < stages; ++stage)
        for (const auto& op : schedule.ops[static_cast<std::size_t>(stage)]) {
            auto place = seen[grid.index(op.kind, grid.link(stage, op), op.micro_batch)];
            if (place) return bad_input("stage {} lists the {} twice; each may run once", stage, described(op));
            place = true;
        }
    if (static_cast<double>(listed) == needed) return grid;
    for (int stage = 0; stage < stages; ++stage)
        for (const auto kind : {OpKind::Forward, OpKind::Backward})
            for (int chunk = 0; chunk < chunks; ++chunk)
                for (int m = 0; m < micro_batches; ++m) {
                    const PipelineOp op{kind, m, chunk};
                    if (!seen[grid.index(kind, grid.link(stage, op), m)])
                        return bad_input(
                            "stage {} never runs the {}; every stage must run every forward and backward "
                            "once",
                            stage, described(op));
                }
    return grid;
}

Result<void> check_times(const StageTimes& times, int stages) {
    const auto count = static_cast<std::size_t>(stages);
    if (times.forward.size() != count || times.backward.size() != count)
        return bad_input("{} stages need {} forward and backward times, not {} and {}", stages, stages,
                         times.forward.size(), times.backward.size());
    const auto usable = [](Seconds t) { return std::isfinite(t) && t >= 0; };
    for (std::size_t stage = 0; stage < count; ++stage)
        if (!usable(times.forward[stage]) || !usable(times.backward[stage]))
            return bad_input("stage {} takes {} s forward and {} s backward; times must be finite and not negative",
                             stage, times.forward[stage], times.backward[stage]);
    if (!usable(times.send))
        return bad_input("a send of {} s cannot be; it must be finite and not negative", times.send);
    return {};
}

/// What an op waits for besides its place in the list: one other op, or nothing.
struct Need {
    bool any = false;
    OpKind kind = OpKind::Forward;
    int link = 0;
};

Need need_of(const Grid& grid, int link, OpKind kind) {
    if (kind == OpKind::Forward) return link == 0 ? Need{} : Need{true, OpKind::Forward, link - 1};
    if (link == grid.links() - 1) return {true, OpKind::Forward, link};
    return {true, OpKind::Backward, link + 1};
}

class Simulation {
public:
    Simulation(const PipelineSchedule& schedule, const StageTimes& times, Grid grid)
        : schedule_(schedule),
          times_(times),
          grid_(grid),
          done_(grid.size(), not_done),
          next_(static_cast<std::size_t>(grid.stages)),
          clock_(static_cast<std::size_t>(grid.stages)) {
        timeline_.stages.resize(static_cast<std::size_t>(grid.stages));
        for (std::size_t s = 0; s < timeline_.stages.size(); ++s) timeline_.stages[s].reserve(schedule.ops[s].size());
    }

    Result<Timeline> run() {
        // A stage is looked at again only when an op that it may wait for has ended: each op is tried O(1) times.
        std::vector<int> to_try(static_cast<std::size_t>(grid_.stages));
        std::iota(to_try.rbegin(), to_try.rend(), 0);
        while (!to_try.empty()) {
            const int stage = to_try.back();
            to_try.pop_back();
            while (run_next(stage, to_try)) {
            }
        }
        if (const int stuck = first_stuck_stage(); stuck >= 0) return deadlock_at(stuck);
        summarize();
        return std::move(timeline_);
    }

private:
    const PipelineOp* next_op(int stage) const {
        const auto& ops = schedule_.ops[static_cast<std::size_t>(stage)];
        const auto next = next_[static_cast<std::size_t>(stage)];
        return next < ops.size() ? &ops[next] : nullptr;
    }

    bool run_next(int stage, std::vector<int>& to_try) {
        const auto* op = next_op(stage);
        if (!op) return false;
        const auto s = static_cast<std::size_t>(stage);
        const int link = grid_.link(stage, *op);
        const auto need = need_of(grid_, link, op->kind);
        auto start = clock_[s];
        if (need.any) {
            const auto ready = done_[grid_.index(need.kind, need.link, op->micro_batch)];
            if (ready == not_done) return false;
            start = std::max(start, ready + (need.link % grid_.stages == stage ? 0 : times_.send));
        }
        // A backward also needs its own forward, wherever it stands in the list.
        if (op->kind == OpKind::Backward && done_[grid_.index(OpKind::Forward, link, op->micro_batch)] == not_done)
            return false;
        const auto whole = op->kind == OpKind::Forward ? times_.forward[s] : times_.backward[s];
        const auto end = start + whole / grid_.chunks;
        timeline_.stages[s].push_back({*op, stage, start, end});
        done_[grid_.index(op->kind, link, op->micro_batch)] = end;
        clock_[s] = end;
        ++next_[s];
        const int woken = op->kind == OpKind::Forward ? link + 1 : link - 1;
        if (woken >= 0 && woken < grid_.links() && woken % grid_.stages != stage)
            to_try.push_back(woken % grid_.stages);
        return true;
    }

    int first_stuck_stage() const {
        for (int stage = 0; stage < grid_.stages; ++stage)
            if (next_op(stage)) return stage;
        return -1;
    }

    tl::unexpected<Error> deadlock_at(int stage) const {
        const auto& op = *next_op(stage);
        const int link = grid_.link(stage, op);
        const bool own_forward_missing =
            op.kind == OpKind::Backward && done_[grid_.index(OpKind::Forward, link, op.micro_batch)] == not_done;
        const auto need = own_forward_missing ? Need{true, OpKind::Forward, link} : need_of(grid_, link, op.kind);
        const PipelineOp wanted{need.kind, op.micro_batch, need.link / grid_.stages};
        return bad_input(
            "the schedule never ends: stage {} hangs at its operation {}, the {}, because stage {} never "
            "gets to the {}; reorder the lists",
            stage, next_[static_cast<std::size_t>(stage)], described(op), need.link % grid_.stages, described(wanted));
    }

    void summarize() {
        Seconds total_idle = 0;
        for (const auto end : clock_) timeline_.makespan = std::max(timeline_.makespan, end);
        for (const auto& ops : timeline_.stages) {
            Seconds busy = 0;
            int alive = 0, peak = 0;
            for (const auto& timed : ops) {
                busy += timed.end - timed.start;
                alive += timed.op.kind == OpKind::Forward ? 1 : -1;
                peak = std::max(peak, alive);
            }
            timeline_.idle.push_back(std::max(0.0, timeline_.makespan - busy));
            timeline_.peak_in_flight.push_back(peak);
            total_idle += timeline_.idle.back();
        }
        if (timeline_.makespan > 0) timeline_.bubble = total_idle / (timeline_.makespan * grid_.stages);
    }

    const PipelineSchedule& schedule_;
    const StageTimes& times_;
    Grid grid_;
    std::vector<Seconds> done_;  ///< end of each op, or not_done
    std::vector<std::size_t> next_;
    std::vector<Seconds> clock_;
    Timeline timeline_;
};

}  // namespace

Result<Timeline> simulate(const PipelineSchedule& schedule, const StageTimes& times) {
    const auto grid = checked_grid(schedule);
    if (!grid) return tl::unexpected(grid.error());
    if (const auto usable = check_times(times, schedule.stages); !usable) return tl::unexpected(usable.error());
    return Simulation(schedule, times, *grid).run();
}

}  // namespace plimsoll
