// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/transfers.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace plimsoll {

namespace {

/// Operations ahead of their own for which receives are started, so that a tensor can come while the rank computes.
constexpr std::size_t lead = 1;

/// The list with what each operation needs and makes.
std::vector<PipelineStep> bare_steps(const PipelineSchedule& schedule, int rank) {
    std::vector<PipelineStep> steps;
    const auto& ops = schedule.ops[static_cast<std::size_t>(rank)];
    steps.reserve(ops.size());
    for (const auto& op : ops) {
        PipelineStep step;
        step.op = op;
        const int stage = schedule.stage_of(rank, op.chunk);
        const auto elsewhere = [&](int other) {
            return other >= 0 && other < schedule.stages() && schedule.rank_of(other) != rank;
        };
        const bool gradient = sends_gradient(op.kind);
        if (op.kind == OpKind::Forward || gradient) {
            const int from = gradient ? stage + 1 : stage - 1, to = gradient ? stage - 1 : stage + 1;
            if (elsewhere(from)) step.receives.push_back({schedule.rank_of(from), from, op.micro_batch, gradient});
            if (elsewhere(to)) step.sends.push_back({schedule.rank_of(to), stage, op.micro_batch, gradient});
        }
        steps.push_back(std::move(step));
    }
    return steps;
}

/// What one rank sends to another.
struct Link {
    std::vector<Transfer> sent;                   ///< in the order of sending, as the receiver names them
    std::unordered_map<int, std::size_t> place;   ///< of each in `sent`, by tag
    std::unordered_map<int, std::size_t> sender;  ///< the sender's operation that made it, by tag
    std::size_t posted = 0;
};

std::map<int, Link> links_into(const PipelineSchedule& schedule, int rank, const std::vector<PipelineStep>& steps) {
    std::map<int, Link> links;
    for (const auto& step : steps)
        for (const auto& t : step.receives) links[t.peer];
    for (auto& [peer, link] : links) {
        const auto theirs = bare_steps(schedule, peer);
        for (std::size_t i = 0; i < theirs.size(); ++i)
            for (Transfer t : theirs[i].sends) {
                if (t.peer != rank) continue;
                t.peer = peer;
                const int tag = tag_of(schedule, t);
                link.place[tag] = link.sent.size();
                link.sender[tag] = i;
                link.sent.push_back(t);
            }
    }
    return links;
}

void add_posts(const PipelineSchedule& schedule, std::map<int, Link>& links, std::vector<PipelineStep>& steps) {
    for (std::size_t i = 0; i < steps.size(); ++i)
        for (std::size_t ahead = i; ahead <= i + lead && ahead < steps.size(); ++ahead)
            for (const auto& needed : steps[ahead].receives) {
                Link& link = links.at(needed.peer);
                const std::size_t place = link.place.at(tag_of(schedule, needed));
                for (; link.posted <= place; ++link.posted) steps[i].posts.push_back(link.sent[link.posted]);
            }
}

/// A peer that sent what its operation made has used all that it received up to there.
void add_ended(const PipelineSchedule& schedule, int rank, const std::map<int, Link>& links,
               std::vector<PipelineStep>& steps) {
    struct Open {
        Transfer transfer;
        std::size_t used_by;  ///< place of the peer's operation
    };
    std::map<int, std::vector<Open>> open;
    std::map<int, std::unordered_map<int, std::size_t>> uses;
    for (const auto& [peer, link] : links) {
        const auto theirs = bare_steps(schedule, peer);
        for (std::size_t i = 0; i < theirs.size(); ++i)
            for (const auto& t : theirs[i].receives)
                if (t.peer == rank) uses[peer][tag_of(schedule, t)] = i;
    }
    for (auto& step : steps) {
        for (const auto& received : step.receives) {
            const std::size_t made_by = links.at(received.peer).sender.at(tag_of(schedule, received));
            auto& sent = open[received.peer];
            const auto still =
                std::stable_partition(sent.begin(), sent.end(), [&](const Open& o) { return o.used_by <= made_by; });
            for (auto each = sent.begin(); each != still; ++each) step.ended.push_back(each->transfer);
            sent.erase(sent.begin(), still);
        }
        for (const auto& t : step.sends)
            if (const auto peer = uses.find(t.peer); peer != uses.end())
                open[t.peer].push_back({t, peer->second.at(tag_of(schedule, t))});
    }
}

}  // namespace

int tag_of(const PipelineSchedule& schedule, const Transfer& transfer) {
    return (transfer.micro_batch * schedule.stages() + transfer.stage) * 2 + (transfer.gradient ? 1 : 0);
}

std::vector<PipelineStep> steps_of(const PipelineSchedule& schedule, int rank) {
    auto steps = bare_steps(schedule, rank);
    auto links = links_into(schedule, rank, steps);
    add_posts(schedule, links, steps);
    add_ended(schedule, rank, links, steps);
    return steps;
}

std::vector<std::vector<PipelineStep>> steps_of(const PipelineSchedule& schedule) {
    std::vector<std::vector<PipelineStep>> all;
    for (int rank = 0; rank < schedule.ranks; ++rank) all.push_back(steps_of(schedule, rank));
    return all;
}

}  // namespace plimsoll
