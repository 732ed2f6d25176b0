// SPDX-License-Identifier: Apache-2.0
#include "core/planner/search.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "core/estimate/peak_counter.h"
#include "core/planner/space.h"
#include "core/step_time/step_timer.h"

namespace plimsoll {

namespace {

using Clock = std::chrono::steady_clock;
Seconds since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

struct Work {
    std::size_t pool = 0;
    Division division;
    Seconds at_least = 0;  ///< of its fastest micro-batch
};

/// What threads share.
struct Shared {
    const PlanRequest& request;
    const std::vector<Pool>& pools;
    std::vector<Work> work;
    const std::atomic<bool>* cancel;
    std::atomic<std::size_t> next{0};
    std::mutex mutex;
    Found found;
    Clock::time_point start = Clock::now();
    Seconds reported = 0;

    bool cancelled() const { return cancel && cancel->load(std::memory_order_relaxed); }
};

/// One thread's tools for one pool.
struct Tools {
    Tools(const Plan& plan, const Hardware& hardware) : peaks(plan), times(plan, hardware) {}
    PeakCounter peaks;
    StepTimer times;
};

Plan plan_on(const PlanRequest& request, const Pool& pool) {
    Plan plan = request.plan;
    plan.cluster = pool.cluster;
    return plan;
}

class Searcher {
public:
    explicit Searcher(Shared& shared)
        : shared_(shared),
          request_(shared.request),
          batch_(global_batch_of(shared.request)),
          recompute_(recompute_choices(shared.request)),
          own_{Ranking(request_.objective, request_.keep), {}, {}, {}} {}

    void run() {
        for (;;) {
            const auto at = shared_.next.fetch_add(1);
            if (at >= shared_.work.size() || shared_.cancelled()) break;
            const auto& work = shared_.work[at];
            auto& tools = tools_[work.pool];
            const auto& pool = shared_.pools[work.pool];
            if (!tools) tools = std::make_unique<Tools>(plan_on(request_, pool), pool.hardware);
            divide(work, pool, *tools);
            hand_over(at + 1 == shared_.work.size());
        }
        hand_over(true);
    }

private:
    void divide(const Work& work, const Pool& pool, Tools& tools) {
        const auto& division = work.division;
        const auto sequences = sequence_choices(request_, division);
        const auto micro_batches = micro_batch_choices(request_, division, batch_);
        const auto zeros = zero_choices(request_, division);
        if (sequences.empty() || micro_batches.empty()) return;
        for (const auto& schedule : schedule_choices(request_, division)) {
            std::vector<std::int64_t> possible;
            for (const auto micro_batch : micro_batches)
                if (schedule_possible(schedule, division.pp, batch_ / division.dp / micro_batch))
                    possible.push_back(micro_batch);
            if (possible.empty()) continue;
            for (const auto& zero : zeros) {
                if (shared_.cancelled()) return;
                auto layout = layout_of(request_, division, schedule, zero, sequences.front(), possible.front(), batch_,
                                        Recompute::None);
                const auto inside = static_cast<std::int64_t>(sequences.size() * possible.size() * recompute_.size());
                own_.counts.layouts += inside;
                const Bytes states = tools.peaks.states(layout);
                if (states > pool.usable) {
                    own_.counts.pruned += inside;
                    if (!own_.leanest || states < own_.leanest->peak) lean(work, layout, tools, sequences, possible);
                    continue;
                }
                for (const bool sequence : sequences)
                    for (const auto micro_batch : possible) {
                        layout.sequence_parallel = sequence;
                        layout.micro_batch = micro_batch;
                        layout.accumulation = batch_ / division.dp / micro_batch;
                        evaluate(work, pool, layout, states, tools);
                    }
            }
        }
    }

    /// Whether a layout of at least that time and memory can neither be ranked nor lie on the front.
    bool hopeless(const Work& work, Seconds step, Bytes peak) const {
        return !own_.ranking.wants(rank_key(request_.objective, work.division.gpus, step, peak)) &&
               own_.front.beaten(work.division.gpus, step, peak);
    }

    void evaluate(const Work& work, const Pool& pool, Layout& layout, Bytes states, Tools& tools) {
        if (hopeless(work, tools.times.at_least(layout), states)) {
            own_.counts.pruned += static_cast<std::int64_t>(recompute_.size());
            return;
        }
        for (const auto recompute : recompute_) {
            layout.recompute = recompute;
            layout.recompute_every = recompute == Recompute::Full ? request_.plan.layout.recompute_every : 1;
            layout.recompute_stages =
                recompute == Recompute::None ? 0 : std::min(request_.plan.layout.recompute_stages, layout.pp);
            const Seconds step = tools.times.time(layout).total();
            if (hopeless(work, step, states)) {
                ++own_.counts.pruned;
                continue;
            }
            ++own_.counts.evaluated;
            const Bytes peak = tools.peaks.fullest(layout);
            const auto gpus = work.division.gpus;
            if (peak > pool.usable) {
                if (!own_.leanest || peak < own_.leanest->peak)
                    own_.leanest = Point{layout, gpus, work.pool, step, peak};
                continue;
            }
            ++own_.counts.fitting;
            const bool ranked = own_.ranking.wants(rank_key(request_.objective, gpus, step, peak));
            if (!ranked && own_.front.beaten(gpus, step, peak)) continue;
            const Point point{layout, gpus, work.pool, step, peak};
            own_.front.add(point);
            if (ranked) own_.ranking.add(point);
        }
    }

    /// The leanest of layouts whose states alone are too much: what to say when nothing fits.
    void lean(const Work& work, Layout layout, Tools& tools, const std::vector<bool>& sequences,
              const std::vector<std::int64_t>& micro_batches) {
        layout.sequence_parallel = sequences.back();
        layout.micro_batch = micro_batches.front();
        layout.accumulation = batch_ / layout.dp / layout.micro_batch;
        if (!recompute_.empty()) layout.recompute = recompute_.back();
        const Bytes peak = tools.peaks.fullest(layout);
        if (own_.leanest && own_.leanest->peak <= peak) return;
        own_.leanest = Point{layout, work.division.gpus, work.pool, tools.times.time(layout).total(), peak};
    }

    /// Gives what was found to all, at most ten times a second.
    void hand_over(bool last) {
        const Seconds now = since(shared_.start);
        if (!last && now - handed_ < 0.1 && handed_ > 0) return;
        handed_ = now;
        const std::lock_guard lock(shared_.mutex);
        auto& all = shared_.found;
        all.ranking.add(own_.ranking);
        all.front.add(own_.front);
        if (own_.leanest && (!all.leanest || own_.leanest->peak < all.leanest->peak)) all.leanest = own_.leanest;
        all.counts.layouts += own_.counts.layouts;
        all.counts.evaluated += own_.counts.evaluated;
        all.counts.pruned += own_.counts.pruned;
        all.counts.fitting += own_.counts.fitting;
        all.counts.seconds = now;
        // What all have found rules out more than what one has.
        own_ = all;
        own_.counts = {};
    }

    Shared& shared_;
    const PlanRequest& request_;
    std::int64_t batch_;
    std::vector<Recompute> recompute_;
    Found own_;
    std::map<std::size_t, std::unique_ptr<Tools>> tools_;
    Seconds handed_ = 0;
};

std::vector<Work> work_of(const PlanRequest& request, const std::vector<Pool>& pools) {
    const auto batch = global_batch_of(request);
    const bool fewer =
        request.fewer_gpus || request.objective == Objective::FewestGpus || request.objective == Objective::Cost;
    std::vector<Work> all;
    for (std::size_t i = 0; i < pools.size(); ++i) {
        StepTimer times(plan_on(request, pools[i]), pools[i].hardware);
        for (const auto gpus : gpu_counts(pools[i].cluster, fewer))
            for (const auto& division : divisions(request, gpus, batch)) {
                const auto micro_batches = micro_batch_choices(request, division, batch);
                if (micro_batches.empty()) continue;
                Layout layout = request.plan.layout;
                layout.tp = division.tp, layout.pp = division.pp, layout.cp = division.cp, layout.dp = division.dp;
                layout.ep = division.ep, layout.sequence_parallel = false;
                // Some micro-batch in the middle stands for all: only the order depends on it.
                layout.micro_batch = micro_batches[std::min<std::size_t>(1, micro_batches.size() - 1)];
                layout.accumulation = batch / division.dp / layout.micro_batch;
                all.push_back({i, division, times.at_least(layout)});
            }
    }
    const auto key = [&](const Work& w) {
        const auto n = static_cast<double>(w.division.gpus);
        return request.objective == Objective::FewestGpus ? std::pair(n, w.at_least)
               : request.objective == Objective::Cost     ? std::pair(w.at_least * n, n)
                                                          : std::pair(w.at_least, n);
    };
    std::stable_sort(all.begin(), all.end(), [&](const Work& a, const Work& b) { return key(a) < key(b); });
    return all;
}

}  // namespace

Found search(const PlanRequest& request, const std::vector<Pool>& pools, const SearchProgress& progress,
             const std::atomic<bool>* cancel) {
    Shared shared{request, pools, {}, cancel, {}, {}, {Ranking(request.objective, request.keep), {}, {}, {}}};
    shared.work = work_of(request, pools);
    const auto cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    const int wanted = request.threads > 0 ? request.threads : cores;
    const int threads = std::clamp(wanted, 1, std::max(1, static_cast<int>(shared.work.size() / 8)));

    std::atomic<int> running{threads};
    std::vector<std::jthread> others;
    const auto one = [&] {
        Searcher(shared).run();
        --running;
    };
    // A small search is over before a thread has started.
    if (threads == 1 && !progress) {
        one();
    } else {
        for (int i = 0; i < threads; ++i) others.emplace_back(one);
        for (Seconds told = 0; running > 0;) {
            std::this_thread::sleep_for(std::chrono::milliseconds(running > 0 ? 5 : 0));
            const Seconds now = since(shared.start);
            if (!progress || now < 0.05 || now - told < 0.1) continue;
            told = now;
            Found seen = [&] {
                const std::lock_guard lock(shared.mutex);
                return shared.found;
            }();
            seen.counts.threads = threads;
            progress(seen);
        }
        others.clear();
    }
    shared.found.counts.threads = threads;
    shared.found.counts.seconds = since(shared.start);
    return std::move(shared.found);
}

}  // namespace plimsoll
