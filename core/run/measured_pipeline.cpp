// SPDX-License-Identifier: Apache-2.0
#include "core/run/measured_pipeline.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/base/json.h"
#include "core/schedule/timeline_sums.h"
#include "core/telemetry/contract/event_contents.h"
#include "core/telemetry/contract/event_kind.h"

namespace plimsoll {

namespace {

constexpr std::size_t kept_steps = 8;

struct RankRecord {
    double origin = 0;
    std::vector<TimedOp> ops;  ///< in seconds from the origin
};

/// Error for anything but the rank's own list of operations with times that do not go back.
Result<RankRecord> read_rank(const Json& details, const PipelineSchedule& schedule, int rank) {
    const auto& list = schedule.ops[static_cast<std::size_t>(rank)];
    const auto event = PipelineEvent::from_json(details);
    if (!event) return bad_input("rank {} of the pipeline: {}", rank, event.error().message);
    if (event->ops.size() != list.size())
        return bad_input(
            "rank {} of the pipeline recorded {} operations, the schedule has {}; was the run's plan changed?", rank,
            event->ops.size(), list.size());
    RankRecord record;
    record.origin = event->origin;
    for (std::size_t i = 0; i < list.size(); ++i) {
        const PipelineEvent::Op& op = event->ops[i];
        const auto name = short_name(list[i], schedule.chunks > 1);
        if (op.name != name)
            return bad_input("operation {} of rank {} of the pipeline is recorded as {}, the schedule has {}", i, rank,
                             op.name, name);
        record.ops.push_back({list[i], rank, op.start, op.end});
        const auto& timed = record.ops.back();
        const double before = i > 0 ? record.ops[i - 1].end : 0;
        if (!std::isfinite(timed.start) || !std::isfinite(timed.end) || timed.start < before || timed.end < timed.start)
            return bad_input("the times of rank {} of the pipeline go back at {}; was the clock set?", rank, name);
    }
    return record;
}

/// A rank notes an operation from when its turn comes; what it then waited for is no work of its own.
void leave_out_waits(const PipelineSchedule& schedule, std::vector<std::vector<TimedOp>>& ranks) {
    const auto batches = static_cast<std::size_t>(schedule.micro_batches);
    std::vector<Seconds> forward(static_cast<std::size_t>(schedule.stages()) * batches), gradient(forward.size());
    const auto at = [&](int stage, const PipelineOp& op) {
        return static_cast<std::size_t>(stage) * batches + static_cast<std::size_t>(op.micro_batch);
    };
    const auto stage_of = [&](const TimedOp& timed) { return schedule.stage_of(timed.rank, timed.op.chunk); };
    for (const auto& ops : ranks)
        for (const auto& timed : ops) {
            if (timed.op.kind == OpKind::Forward) forward[at(stage_of(timed), timed.op)] = timed.end;
            if (sends_gradient(timed.op.kind)) gradient[at(stage_of(timed), timed.op)] = timed.end;
        }
    for (auto& ops : ranks)
        for (auto& timed : ops) {
            const int stage = stage_of(timed);
            Seconds input = 0;
            if (timed.op.kind == OpKind::Forward && stage > 0) input = forward[at(stage - 1, timed.op)];
            if (sends_gradient(timed.op.kind) && stage + 1 < schedule.stages())
                input = gradient[at(stage + 1, timed.op)];
            timed.start = std::clamp(input, timed.start, timed.end);
        }
}

}  // namespace

PipelineRecords::PipelineRecords(const RunFolder& run, const Plan& plan) {
    const auto& l = plan.layout;
    // Pipeline ranks lie outermost (core/engine/ranks/mesh.h).
    for (std::int64_t pp = 0; l.pp > 1 && pp < l.pp; ++pp)
        stages_.push_back({TelemetryReader(run.telemetry_path(static_cast<int>(pp * l.tp * l.cp * l.dp))), {}});
}

Result<bool> PipelineRecords::poll() {
    bool any = false;
    for (auto& stage : stages_) {
        do {
            PLIMSOLL_TRY(const auto batch, stage.reader.poll());
            if (batch.replaced) stage.steps.clear();
            if (batch.fork) stage.steps.erase(stage.steps.lower_bound(*batch.fork), stage.steps.end());
            for (const auto& event : batch.events) {
                if (event.kind != EventKind::Pipeline) continue;
                stage.steps[event.step] = event.details;
                any = true;
            }
            while (stage.steps.size() > kept_steps) stage.steps.erase(stage.steps.begin());
            if (batch.empty()) break;
        } while (!stage.reader.at_end());
    }
    return any;
}

std::optional<std::uint64_t> PipelineRecords::last_step() const {
    if (stages_.empty()) return std::nullopt;
    for (auto step = stages_[0].steps.rbegin(); step != stages_[0].steps.rend(); ++step)
        if (std::all_of(stages_.begin(), stages_.end(), [&](const Stage& s) { return s.steps.contains(step->first); }))
            return step->first;
    return std::nullopt;
}

Result<Timeline> PipelineRecords::timeline(const PipelineSchedule& schedule, std::uint64_t step) const {
    if (static_cast<std::size_t>(schedule.ranks) != stages_.size())
        return bad_input("the run has {} pipeline ranks, the schedule {}", stages_.size(), schedule.ranks);
    std::vector<RankRecord> records;
    double first = std::numeric_limits<double>::infinity();
    for (int rank = 0; rank < schedule.ranks; ++rank) {
        const auto& steps = stages_[static_cast<std::size_t>(rank)].steps;
        const auto found = steps.find(step);
        if (found == steps.end()) return bad_input("rank {} of the pipeline recorded nothing of step {}", rank, step);
        PLIMSOLL_TRY(auto record, read_rank(found->second, schedule, rank));
        if (!record.ops.empty()) first = std::min(first, record.origin + record.ops.front().start);
        records.push_back(std::move(record));
    }
    std::vector<std::vector<TimedOp>> ranks;
    for (auto& record : records) {
        for (auto& op : record.ops) {
            op.start += record.origin - first;
            op.end += record.origin - first;
        }
        ranks.push_back(std::move(record.ops));
    }
    leave_out_waits(schedule, ranks);
    return summed_timeline(std::move(ranks));
}

StageTimes mean_times(const PipelineSchedule& schedule, const Timeline& timeline) {
    struct Sum {
        Seconds time = 0;
        int count = 0;
        Seconds mean() const { return count > 0 ? time / count : 0; }
    };
    std::vector<std::array<Sum, 4>> sums(static_cast<std::size_t>(schedule.stages()));
    for (const auto& ops : timeline.ranks)
        for (const auto& timed : ops) {
            const auto stage = static_cast<std::size_t>(schedule.stage_of(timed.rank, timed.op.chunk));
            auto& sum = sums[stage][static_cast<std::size_t>(timed.op.kind)];
            sum.time += timed.end - timed.start;
            ++sum.count;
        }
    StageTimes times;
    for (const auto& [forward, backward, input, weight] : sums) {
        times.forward.push_back(forward.mean());
        // A whole backward may stand beside split ones: where it is split it counts by its parts.
        times.backward_input.push_back(input.count > 0 ? input.mean() : backward.mean());
        times.backward_weight.push_back(input.count > 0 ? weight.mean() : 0);
    }
    return times;
}

}  // namespace plimsoll
