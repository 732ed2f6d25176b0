// SPDX-License-Identifier: Apache-2.0
#include "core/planner/search.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "core/planner/fit_limit.h"
#include "core/planner/framework_rules.h"
#include "core/planner/memory_counter.h"
#include "core/planner/space.h"
#include "core/step_time/step_timer.h"

namespace plimsoll {

namespace {

using Clock = std::chrono::steady_clock;
Seconds since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

struct Work {
    std::size_t pool = 0;
    Division division;
    Seconds at_least = 0;  ///< bound on the time with one of the division's micro-batches
};

/// State that the threads share.
struct Shared {
    const PlanRequest& request;
    const std::vector<Pool>& pools;
    std::vector<Work> work;
    const std::atomic<bool>* cancel;
    std::atomic<std::size_t> next{0};
    std::mutex mutex;
    Found found;
    bool any_fits = false;
    Clock::time_point start = Clock::now();

    bool cancelled() const { return cancel && cancel->load(std::memory_order_relaxed); }
};

/// One thread's tools for one pool.
struct Tools {
    Tools(Framework framework, const Plan& plan, const Hardware& hardware)
        : peaks(framework, plan), times(plan, hardware) {}
    MemoryCounter peaks;
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
          own_{Ranking(request_.objective, request_.keep), {}, {}, false, {}} {}

    void run() {
        for (;;) {
            const auto at = shared_.next.fetch_add(1);
            if (at >= shared_.work.size() || shared_.cancelled()) break;
            const auto& work = shared_.work[at];
            auto& tools = tools_[work.pool];
            const auto& pool = shared_.pools[work.pool];
            if (!tools) tools = std::make_unique<Tools>(request_.framework, plan_on(request_, pool), pool.hardware);
            divide(work, pool, *tools);
            hand_over(false);
        }
        hand_over(true);
    }

private:
    /// The settings of a layout that bound its time: all but schedule, ZeRO and offload.
    struct Shape {
        bool sequence_parallel = false;
        std::int64_t micro_batch = 1, accumulation = 1;
        Recompute recompute = Recompute::None;
        Seconds at_least = 0;
    };

    void set(Layout& layout, const Shape& shape) const {
        const auto& given = request_.plan.layout;
        layout.sequence_parallel = shape.sequence_parallel;
        layout.micro_batch = shape.micro_batch;
        layout.accumulation = shape.accumulation;
        layout.recompute = shape.recompute;
        layout.recompute_every = shape.recompute == Recompute::Full ? given.recompute_every : 1;
        layout.recompute_stages = shape.recompute == Recompute::None ? 0 : std::min(given.recompute_stages, layout.pp);
    }

    std::vector<Shape> shapes_of(const Division& division, Tools& tools) const {
        std::vector<Shape> shapes;
        auto layout = layout_of(request_, division, {}, {}, false, 1, batch_, Recompute::None);
        for (const bool sequence : sequence_choices(request_, division))
            for (const auto micro_batch : micro_batch_choices(request_, division, batch_))
                for (const auto recompute : recompute_) {
                    shapes.push_back({sequence, micro_batch, batch_ / division.dp / micro_batch, recompute, 0});
                    set(layout, shapes.back());
                    shapes.back().at_least = tools.times.at_least(layout);
                }
        return shapes;
    }

    bool trains(const Layout& layout) const { return refusal_of(request_.framework, request_.plan, layout) == nullptr; }

    void divide(const Work& work, const Pool& pool, Tools& tools) {
        const auto shapes = shapes_of(work.division, tools);
        const auto zeros = zero_choices(request_, work.division);
        if (shapes.empty()) return;
        for (const auto& schedule : schedule_choices(request_, work.division))
            for (const auto& zero : zeros) {
                if (shared_.cancelled()) return;
                auto layout = layout_of(request_, work.division, schedule, zero, false, 1, batch_, Recompute::None);
                std::optional<Bytes> counted;
                for (const auto& shape : shapes) {
                    if (!schedule_possible(schedule, work.division.pp, shape.accumulation)) continue;
                    set(layout, shape);
                    if (!trains(layout)) continue;
                    if (!counted) counted = tools.peaks.states(layout);
                    const Bytes states = *counted;
                    ++own_.counts.layouts;
                    const bool hopeful = !hopeless(work, shape.at_least, states);
                    // As long as nothing fits, the leanest layout is wanted.
                    if (!hopeful || (states > pool.limit && (any_fits() || leaner_known(states)))) {
                        ++own_.counts.pruned;
                        continue;
                    }
                    evaluate(work, pool, layout, shape, states, tools);
                }
            }
    }

    bool any_fits() const { return any_fits_; }
    bool leaner_known(Bytes peak) const { return own_.leanest && own_.leanest->peak <= peak; }

    /// Whether every layout with at least that time and memory can neither be ranked nor lie on the front.
    bool hopeless(const Work& work, Seconds step, Bytes peak) const {
        return !own_.ranking.wants(rank_key(request_.objective, work.division.gpus, step, peak)) &&
               own_.front.beaten(work.division.gpus, step, peak);
    }

    void evaluate(const Work& work, const Pool& pool, const Layout& layout, const Shape& shape, Bytes states,
                  Tools& tools) {
        const Bytes at_least = std::max(states, tools.peaks.at_least(layout));
        const bool too_much = at_least > pool.limit && (any_fits() || leaner_known(at_least));
        if (too_much || hopeless(work, shape.at_least, at_least)) {
            ++own_.counts.pruned;
            return;
        }
        const Seconds step = tools.times.time(layout).total();
        if (hopeless(work, step, at_least)) {
            ++own_.counts.pruned;
            return;
        }
        ++own_.counts.evaluated;
        const auto gpus = work.division.gpus;
        const Bytes peak = tools.peaks.fullest(layout, pool.limit);
        if (peak > pool.limit) {
            if (!any_fits() && !leaner_known(peak)) lean(work, layout, step, tools);
            return;
        }
        if (request_.host_memory > 0 && !host_holds(request_, part_of(pool.cluster, gpus), tools.peaks.host(layout))) {
            own_.host_binds = true;
            return;
        }
        any_fits_ = true;
        const bool ranked = own_.ranking.wants(rank_key(request_.objective, gpus, step, peak));
        if (!ranked && own_.front.beaten(gpus, step, peak)) return;
        const LayoutPoint point{layout, gpus, work.pool, step, peak};
        own_.front.add(point);
        if (ranked) own_.ranking.add(point);
    }

    /// Keeps the leanest layout that does not fit, which is the answer when nothing fits.
    void lean(const Work& work, const Layout& layout, Seconds step, Tools& tools) {
        const Bytes peak = tools.peaks.fullest(layout);
        if (peak < std::numeric_limits<Bytes>::max() && !leaner_known(peak))
            own_.leanest = LayoutPoint{layout, work.division.gpus, work.pool, step, peak};
    }

    /// Merges this thread's results into the shared ones, at most ten times a second.
    void hand_over(bool last) {
        const Seconds now = since(shared_.start);
        if (!last && now - handed_ < 0.1 && handed_ > 0) return;
        handed_ = now;
        const std::lock_guard lock(shared_.mutex);
        auto& all = shared_.found;
        all.ranking.add(own_.ranking);
        all.front.add(own_.front);
        if (own_.leanest && (!all.leanest || own_.leanest->peak < all.leanest->peak)) all.leanest = own_.leanest;
        all.host_binds = all.host_binds || own_.host_binds;
        shared_.any_fits = shared_.any_fits || any_fits_;
        all.counts.layouts += own_.counts.layouts;
        all.counts.evaluated += own_.counts.evaluated;
        all.counts.pruned += own_.counts.pruned;
        all.counts.seconds = now;
        // The results of all threads rule out more than those of one.
        own_ = all;
        own_.counts = {};
        any_fits_ = shared_.any_fits;
    }

    Shared& shared_;
    const PlanRequest& request_;
    std::int64_t batch_;
    std::vector<Recompute> recompute_;
    Found own_;
    std::map<std::size_t, std::unique_ptr<Tools>> tools_;
    Seconds handed_ = 0;
    bool any_fits_ = false;  ///< a layout fits, of this thread or, as last merged, of another
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
                // A micro-batch from the middle is good enough: only the order depends on it.
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
    Shared shared{request, pools, {}, cancel, {}, {}, {Ranking(request.objective, request.keep), {}, {}, false, {}}};
    shared.work = work_of(request, pools);
    const auto cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    const int wanted = request.threads > 0 ? request.threads : cores;
    const int threads = std::clamp(wanted, 1, std::max(1, static_cast<int>(shared.work.size() / 8)));

    int running = threads;
    std::mutex mutex;
    std::condition_variable ended;
    const auto one = [&] {
        Searcher(shared).run();
        const std::lock_guard lock(mutex);
        --running;
        ended.notify_one();
    };
    // A small search is over before a thread has started.
    if (threads == 1 && !progress) {
        one();
    } else {
        std::vector<std::jthread> others;
        for (int i = 0; i < threads; ++i) others.emplace_back(one);
        std::unique_lock lock(mutex);
        for (Seconds wait = 0.05;; wait = 0.1) {
            if (ended.wait_for(lock, std::chrono::duration<double>(wait), [&] { return running == 0; })) break;
            if (!progress) continue;
            Found seen = [&] {
                const std::lock_guard held(shared.mutex);
                return shared.found;
            }();
            seen.counts.threads = threads;
            lock.unlock();
            progress(seen);
            lock.lock();
        }
    }
    shared.found.counts.threads = threads;
    shared.found.counts.seconds = since(shared.start);
    return std::move(shared.found);
}

}  // namespace plimsoll
