// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/stream_simulation.h"

#include <deque>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

namespace plimsoll {

namespace {

using Stream = std::pair<int, int>;
/// From, to, stage, micro-batch, gradient.
using Message = std::tuple<int, int, int, int, bool>;

Message message(int rank, const Transfer& t, bool sends) {
    return {sends ? rank : t.peer, sends ? t.peer : rank, t.stage, t.micro_batch, t.gradient};
}
std::pair<int, int> link_of(const Message& m) { return {std::get<0>(m), std::get<1>(m)}; }

struct Queued {
    bool sends = false;
    Message message;
    std::size_t waits = 0;  ///< how many of its rank's waits are before it
};

class Streams {
public:
    Streams(const std::vector<std::vector<PipelineStep>>& ranks, StreamRule rule)
        : rule_(rule), queues_(ranks.size()), waits_(ranks.size()), waited_(ranks.size()), over_(ranks.size()) {
        for (std::size_t rank = 0; rank < ranks.size(); ++rank)
            for (const auto& step : ranks[rank]) add(static_cast<int>(rank), step);
    }

    StreamOutcome play() {
        std::vector<int> to_try(queues_.size());
        std::iota(to_try.begin(), to_try.end(), 0);
        while (!to_try.empty()) {
            const int rank = to_try.back();
            to_try.pop_back();
            for (const int peer : pass(rank)) {
                to_try.push_back(peer);
                to_try.push_back(rank);
            }
        }
        for (const auto& queues : queues_)
            for (const auto& [stream, queue] : queues) outcome_.stuck += queue.size();
        return outcome_;
    }

private:
    static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }

    void add(int rank, const PipelineStep& step) {
        const auto queue = [&](const Transfer& t, bool sends) {
            const Message m = message(rank, t, sends);
            queues_[at(rank)][stream_of(m)].push_back({sends, m, waits_[at(rank)].size()});
        };
        for (const auto& t : step.posts) queue(t, false);
        for (const auto& t : step.receives) waits_[at(rank)].push_back({false, message(rank, t, false)});
        for (const auto& t : step.ended) waits_[at(rank)].push_back({true, message(rank, t, true)});
        for (const auto& t : step.sends) queue(t, true);
    }

    Stream stream_of(const Message& m) const {
        const auto [from, to] = link_of(m);
        switch (rule_) {
            case StreamRule::Direction:
                return {from, to};
            case StreamRule::Pair:
                return {std::min(from, to), std::max(from, to)};
            case StreamRule::Rank:
                break;
        }
        return {-1, -1};
    }

    /// Passes what it can between the rank and its peers; the peers that took part, once each.
    std::set<int> pass(int rank) {
        std::set<int> peers;
        for (auto& [stream, queue] : queues_[at(rank)]) {
            while (!queue.empty() && ready(rank, queue.front())) {
                const Queued& own = queue.front();
                const auto [from, to] = link_of(own.message);
                const int peer = own.sends ? to : from;
                auto& theirs = queues_[at(peer)][stream];
                if (theirs.empty() || theirs.front().sends == own.sends || !ready(peer, theirs.front()) ||
                    link_of(theirs.front().message) != link_of(own.message)) {
                    break;
                }
                if (theirs.front().message != own.message) ++outcome_.mixed_up;
                end(rank, own);
                end(peer, theirs.front());
                queue.pop_front();
                theirs.pop_front();
                peers.insert(peer);
            }
        }
        return peers;
    }

    bool ready(int rank, const Queued& queued) {
        std::size_t& waited = waited_[at(rank)];
        const auto& waits = waits_[at(rank)];
        while (waited < waits.size() && over_[at(rank)].count(waits[waited]) > 0) ++waited;
        return queued.waits <= waited;
    }
    void end(int rank, const Queued& queued) { over_[at(rank)].insert({queued.sends, queued.message}); }

    StreamRule rule_;
    std::vector<std::map<Stream, std::deque<Queued>>> queues_;  ///< by rank
    std::vector<std::vector<std::pair<bool, Message>>> waits_;  ///< by rank, in order: for a send or a receive
    std::vector<std::size_t> waited_;                           ///< by rank: how many waits are over
    std::vector<std::set<std::pair<bool, Message>>> over_;      ///< by rank: sends and receives that have ended
    StreamOutcome outcome_;
};

}  // namespace

StreamOutcome simulate_streams(const std::vector<std::vector<PipelineStep>>& ranks, StreamRule rule) {
    return Streams(ranks, rule).play();
}

Result<void> check_messages(const PipelineSchedule& schedule) {
    const StreamOutcome outcome = simulate_streams(steps_of(schedule), StreamRule::Direction);
    if (outcome.arrives()) return {};
    return bad_input(
        "{} messages between pipeline ranks would never arrive and {} would be taken for others; take another schedule",
        outcome.stuck, outcome.mixed_up);
}

}  // namespace plimsoll
